/**
 * Turns paid orders into credits: a webhook for the payment provider (Stripe's form), run beside the service by its operator.
 *
 * It keeps nothing. The provider repeats an event until it gets 200, and `account credits --reference` adds once for each order, so a
 * lost answer, a repeated event and a `kill -9` at any moment end with the credits added once.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** Credits for what was paid, in cents of a euro. Prices are yours to set. */
const PACKS = new Map([
  [900, 1_000],
  [3_900, 5_000],
]);
const TOLERANCE_S = 300;
const COMMAND_TIMEOUT_MS = 20_000;

const secret = process.env.WEBHOOK_SECRET;
if (!secret) throw new Error('WEBHOOK_SECRET is not set');
const root = new URL('../..', import.meta.url).pathname;

/** An event that says that an order was paid: at once, or later as with Multibanco. */
interface PaidOrder {
  type: string;
  data: {
    object: {
      id: string;
      /** The account, from `BUY_URL`. */
      client_reference_id: string | null;
      payment_status: string;
      amount_total: number;
      currency: string;
    };
  };
}
const PAID = ['checkout.session.completed', 'checkout.session.async_payment_succeeded'];

/** Whether the provider has signed this text, minutes ago at most: `t=SECONDS,v1=HEX[,v1=HEX]`. */
function isSigned(body: string, header: string): boolean {
  const parts = header.split(',').map((part) => part.split('='));
  const time = parts.find(([name]) => name === 't')?.[1] ?? '';
  const age = Date.now() / 1000 - Number(time);
  const expected = createHmac('sha256', secret!).update(`${time}.${body}`).digest();
  const isOurs = (hex: string) => {
    const given = Buffer.from(hex, 'hex');
    return given.length === expected.length && timingSafeEqual(given, expected);
  };
  return Math.abs(age) <= TOLERANCE_S && parts.some(([name, value]) => name === 'v1' && isOurs(value ?? ''));
}

/** The status that the provider gets: it repeats the event after all but 200. */
async function receive(request: Request): Promise<number> {
  const body = await request.text();
  if (!isSigned(body, request.headers.get('Stripe-Signature') ?? '')) return 400;
  const { type, data }: PaidOrder = JSON.parse(body);
  if (!PAID.includes(type) || data.object.payment_status !== 'paid') return 200;
  const { id, client_reference_id: account, amount_total: cents, currency } = data.object;
  const credits = currency === 'eur' ? PACKS.get(cents) : undefined;
  if (credits === undefined || !/^acc_\w+$/.test(account ?? '') || !/^\w+$/.test(id)) {
    console.error(`order ${id} is paid, and no pack or no account fits it: ${cents} ${currency}, ${account}`);
    return 422;
  }
  const words = ['account', 'credits', account!, '--add', String(credits), '--reference', id, '--json'];
  const command = Bun.spawn([process.execPath, 'src/main.ts', ...words], {
    cwd: root,
    stdout: 'pipe',
    stderr: 'inherit',
    timeout: COMMAND_TIMEOUT_MS,
  });
  const code = await command.exited;
  console.log(`order ${id}: ${credits} credits for ${account}, exit ${code}`);
  return code === 0 ? 200 : 500;
}

const server = Bun.serve({
  port: Number(process.env.PORT ?? 4242),
  hostname: '127.0.0.1',
  maxRequestBodySize: 1024 * 1024,
  routes: { '/webhook': { POST: async (request) => new Response(null, { status: await receive(request) }) } },
  fetch: () => new Response(null, { status: 404 }),
  error(error) {
    console.error(error.message);
    return new Response(null, { status: 500 });
  },
});
console.log(`listening on ${server.url}webhook`);
