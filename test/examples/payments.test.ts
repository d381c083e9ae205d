/** examples/payments as an operator runs it: signed events of a payment provider, on the stores of a service. */
import { afterAll, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { bareEnvironment, ROOT } from '../support/command.ts';
import { createCaller, createTestEnvironment } from '../support/service.ts';

const SECRET = 'whsec_test';
const { env, database } = await createTestEnvironment();
const { accountId } = await createCaller(database.sql);
const webhook = Bun.spawn([process.execPath, join(ROOT, 'examples/payments/server.ts')], {
  env: { ...bareEnvironment(), ...env, WEBHOOK_SECRET: SECRET, PORT: '0' },
  stdout: 'pipe',
  stderr: 'ignore',
});
const { value } = await webhook.stdout.getReader().read();
const url = /http\S+/.exec(new TextDecoder().decode(value))![0];
afterAll(async () => {
  webhook.kill();
  await webhook.exited;
  await database.drop();
});

const order = (id: string, object: object = {}) => ({
  type: 'checkout.session.completed',
  data: {
    object: {
      id,
      client_reference_id: accountId,
      payment_status: 'paid',
      amount_total: 3900,
      currency: 'eur',
      ...object,
    },
  },
});
async function send(event: unknown, { secret = SECRET, atMs = Date.now() } = {}): Promise<number> {
  const body = JSON.stringify(event);
  const time = Math.floor(atMs / 1000);
  const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
  const headers = { 'Stripe-Signature': `t=${time},v1=00,v1=${signature}` };
  return (await fetch(url, { method: 'POST', body, headers })).status;
}
const credits = async () =>
  (await database.sql`SELECT credits FROM balances WHERE account_id = ${accountId}`)[0]!.credits;

test('a paid order adds its credits once, also sent twice at once and again later', async () => {
  expect(await Promise.all([send(order('cs_1')), send(order('cs_1'))])).toEqual([200, 200]);
  expect(await send(order('cs_1'))).toBe(200);
  expect(await credits()).toBe(5000);
  const later = { ...order('cs_2', { amount_total: 900 }), type: 'checkout.session.async_payment_succeeded' };
  expect([await send(later), await credits()]).toEqual([200, 6000]);
});

test('nothing is added for a false or old signature, an unpaid order, or one that fits no pack or account', async () => {
  const before = await credits();
  expect(await send(order('cs_3'), { secret: 'other' })).toBe(400);
  expect(await send(order('cs_3'), { atMs: Date.now() - 600_000 })).toBe(400);
  expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(400);
  expect(await send(order('cs_3', { payment_status: 'unpaid' }))).toBe(200);
  expect(await send({ type: 'invoice.paid', data: { object: {} } })).toBe(200);
  expect(await send(order('cs_3', { amount_total: 1 }))).toBe(422);
  expect(await send(order('cs_3', { currency: 'usd' }))).toBe(422);
  expect(await send(order('cs_3', { client_reference_id: '--help' }))).toBe(422);
  // An account that is not there: the provider repeats it, and the operator sees why.
  expect(await send(order('cs_3', { client_reference_id: 'acc_none' }))).toBe(500);
  expect(await credits()).toBe(before);
});
