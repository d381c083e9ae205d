/**
 * `bun bench/dashboard-load.ts`: how long customers' calls take while one free account keeps 600 forms of the dashboard in
 * flight and opens its overview 50 times a second, beside the same calls on a quiet service.
 */
import { parseArgs } from 'node:util';
import { pageRequest, startCrowd } from '../test/dashboard/crowd.ts';
import { createVisitor, signUp } from '../test/dashboard/visitor.ts';
import { get } from './lib/load.ts';
import { generateCompany } from './lib/names.ts';
import { measureNeighbour } from './lib/neighbour.ts';
import { type Service, startStack } from './lib/stack.ts';

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' },
    'per-second': { type: 'string', default: '200' },
    forms: { type: 'string', default: '600' },
    overviews: { type: 'string', default: '50' },
  },
});
const seconds = Number(options.seconds);
const perSecond = Number(options['per-second']);

const RECORDS = 1000;
const CUSTOMERS = 20;

async function main(): Promise<void> {
  const stack = await startStack({ companies: RECORDS, records: RECORDS, accounts: CUSTOMERS });
  const service = await stack.serve({ SIGN_UP: 'open', TRUST_PROXY: '127.0.0.1' });
  const requests = Array.from({ length: RECORDS }, (_, index) => {
    const path = index % 2 === 0 ? '/api/v1/usage' : `/api/v1/companies/${generateCompany(index).nif}`;
    return get(path, stack.keys.rich[index % CUSTOMERS]);
  });
  const measure = (name: string, lasts = seconds) =>
    measureNeighbour(name, service, { requests, perSecond, seconds: lasts });
  try {
    await measure('warm-up', 5);
    await measure('quiet');
    const attack = await startAttack(service);
    await Bun.sleep(2000);
    await measure('one account at the dashboard');
    attack.stop();
    process.stdout.write(`  its forms were answered ${JSON.stringify(attack.answers)}\n`);
    await Bun.sleep(5000);
    await measure('afterwards');
  } finally {
    await service.stop();
    await stack.stop();
  }
}

async function startAttack({ host, port }: Service) {
  const visitor = createVisitor(`http://${host}:${port}`);
  await signUp(visitor);
  const page = await visitor.get('/dashboard/keys');
  const form_token = page.document.querySelector('input[name=form_token]')!.getAttribute('value')!;
  const address = { hostname: host, port };
  const crowd = await startCrowd({
    ...address,
    connections: Number(options.forms),
    request: pageRequest(address, visitor.cookies, 'POST', '/dashboard/keys', { name: 'x', form_token }),
  });
  const overviews = setInterval(
    () => void visitor.get('/dashboard').catch(() => {}),
    1000 / Number(options.overviews),
  );
  return {
    answers: crowd.answers,
    stop() {
      clearInterval(overviews);
      crowd.stop();
    },
  };
}

await main();
