/**
 * `bun bench/dashboard-load.ts`: how long customers' calls take while one free account keeps 600 forms of the dashboard in
 * flight and opens its overview 50 times a second, beside the same calls on a quiet service.
 */
import { parseArgs } from 'node:util';
import { pageRequest, startCrowd } from '../test/dashboard/crowd.ts';
import { createVisitor, signUp } from '../test/dashboard/visitor.ts';
import { generateCompany } from './lib/names.ts';
import { runOpenLoop } from './lib/open-loop.ts';
import { type Service, startProcess, startStack } from './lib/stack.ts';
import { get } from './lib/wrk.ts';

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
const CONNECTIONS = 200;

async function main(): Promise<void> {
  const stack = await startStack(RECORDS, RECORDS, CUSTOMERS);
  const service = await startProcess(['src/main.ts', 'serve'], {
    ...stack.environment,
    SIGN_UP: 'open',
    TRUST_PROXY: '127.0.0.1',
  });
  const requests = Array.from({ length: RECORDS }, (_, index) => {
    const path = index % 2 === 0 ? '/api/v1/usage' : `/api/v1/companies/${generateCompany(index).nif}`;
    return get(path, 'bench', stack.keys[index % CUSTOMERS]);
  });
  const measure = (seconds: number) =>
    runOpenLoop({ ...service, perSecond, seconds, connections: CONNECTIONS, requests });
  try {
    await measure(5); // warms up
    report('quiet', (await measure(seconds)).times);
    const attack = await startAttack(service);
    await Bun.sleep(2000);
    const { times } = await measure(seconds);
    attack.stop();
    report('one account at the dashboard', times);
    process.stdout.write(`  its forms were answered ${JSON.stringify(attack.answers)}\n`);
    await Bun.sleep(5000);
    report('afterwards', (await measure(seconds)).times);
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

function report(name: string, times: Record<number, number[]>): void {
  for (const [status, all] of Object.entries(times)) {
    const sorted = all.sort((a, b) => a - b);
    const at = (share: number) =>
      sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.toFixed(1);
    process.stdout.write(
      `${name}: ${sorted.length} answers ${status}, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms\n`,
    );
  }
}

await main();
