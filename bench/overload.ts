/**
 * `bun bench/overload.ts`: requests arrive at a fixed rate, however slowly they are answered, at half the service's
 * capacity and at twice it. What can't be served in time is to be refused quickly and to cost nothing. Wants wrk.
 */
import { parseArgs } from 'node:util';
import { generateCompany } from './lib/names.ts';
import { type Arrivals, runOpenLoop } from './lib/open-loop.ts';
import { residentMb } from './lib/processes.ts';
import { type Service, type Stack, startProcess, startStack } from './lib/stack.ts';
import { get, runWrk } from './lib/wrk.ts';

const { values: options } = parseArgs({
  options: {
    records: { type: 'string', default: '20000' },
    connections: { type: 'string', default: '15000' },
    seconds: { type: 'string', default: '10' },
  },
});

const records = Number(options.records);
const connections = Number(options.connections);
const seconds = Number(options.seconds);

const ACCOUNTS = 1000;

/** Connections at which more of them get no more done. */
const SATURATION = 1024;

async function main(): Promise<void> {
  const stack = await startStack(records, records, ACCOUNTS);
  const service = await startProcess(['src/main.ts', 'serve'], stack.environment);
  try {
    const lookups = Array.from({ length: records }, (_, index) =>
      get(path(index), 'bench', stack.keys[index % ACCOUNTS]),
    );
    await runWrk({ ...service, requests: lookups }, SATURATION, 6);
    const { requestsPerSecond: capacity } = await runWrk({ ...service, requests: lookups }, SATURATION, 6);
    process.stdout.write(
      `capacity (closed loop, ${SATURATION} connections): ${Math.round(capacity)} lookups a second\n`,
    );
    for (const share of [0.5, 2]) {
      await untilSettled(stack);
      const before = { credits: await spent(stack), answers: await charged(service) };
      const arrivals = await runOpenLoop({
        ...service,
        perSecond: capacity * share,
        seconds,
        connections,
        requests: lookups,
      });
      await untilSettled(stack);
      const credits = (await spent(stack)) - before.credits;
      describe(share, capacity, arrivals, credits, (await charged(service)) - before.answers);
      process.stdout.write(`  memory ${Math.round(residentMb(service.pid))} MB\n`);
    }
  } finally {
    await service.stop();
    await stack.stop();
  }
}

/** Lookups that the service has answered with what costs a credit, as it counts them itself. */
async function charged({ host, port }: Service): Promise<number> {
  const text = await (await fetch(`http://${host}:${port}/metrics`)).text();
  const count = /http_requests_total\{route="\/api\/v1\/companies\/\{nif\}",status="200"\} (\d+)/.exec(text);
  return Number(count?.[1] ?? 0);
}

function path(number: number): string {
  return `/api/v1/companies/${generateCompany(number % records).nif}`;
}

/** Waits until requests in flight are answered, and what the ledger owes is refunded (a roll-up every 5 s). */
async function untilSettled({ sql }: Stack): Promise<void> {
  await Bun.sleep(1000);
  for (let second = 0; second < 30; second += 1) {
    const [row] = await sql<{ owed: number }[]>`
      SELECT count(*) AS owed FROM call_journal WHERE owed AND account_ids <> '{}'`;
    if (row!.owed === 0) return;
    await Bun.sleep(1000);
  }
  throw new Error('the ledger has owed credits for 30 s');
}

/** Credits spent by all accounts in their present periods. */
async function spent({ sql }: Stack): Promise<number> {
  const [row] = await sql<{ used: number }[]>`SELECT sum(used)::bigint AS used FROM balances`;
  return row!.used;
}

function describe(
  share: number,
  capacity: number,
  arrivals: Arrivals,
  credits: number,
  answers: number,
): void {
  const lines = Object.entries(arrivals.times).map(([status, times]) => {
    const sorted = times.sort((a, b) => a - b);
    return `  ${status}: ${times.length} answers, p50 ${at(sorted, 0.5)} ms, p99 ${at(sorted, 0.99)} ms\n`;
  });
  const rate = Math.round(capacity * share);
  process.stdout.write(
    `${share} × capacity: ${rate} a second for ${seconds} s, over ${connections} connections,` +
      ` sent up to ${arrivals.latestMs.toFixed(0)} ms late\n${lines.join('')}` +
      `  without an answer: ${arrivals.unanswered}\n` +
      `  credits spent: ${credits}, answers of the service that cost one: ${answers}\n`,
  );
}

function at(sorted: number[], share: number): string {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.toFixed(1);
}

await main();
