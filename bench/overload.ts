/**
 * `bun bench/overload.ts`: requests arrive at a fixed rate, from many clients that don't slow down together, at half the
 * service's capacity and at twice it. What can't be served in time is to be refused quickly and to cost nothing.
 * Wants wrk and h2load (Debian: nghttp2-client).
 */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { generateCompany } from './names.ts';
import { residentMb } from './processes.ts';
import { type Service, type Stack, startProcess, startStack } from './stack.ts';
import { get, runWrk } from './wrk.ts';

const { values: options } = parseArgs({
  options: {
    records: { type: 'string', default: '20000' },
    clients: { type: 'string', default: '12000' },
    seconds: { type: 'string', default: '10' },
  },
});

const records = Number(options.records);
const clients = Number(options.clients);
const seconds = Number(options.seconds);

/** Connections at which more of them get no more done. */
const SATURATION = 1024;

/** Times in milliseconds by status; 0 stands for requests that got no answer. */
type Outcome = Map<number, number[]>;

async function main(): Promise<void> {
  const stack = await startStack(records, records, 10);
  const service = await startProcess(['src/main.ts', 'serve'], stack.environment);
  try {
    const lookups = Array.from({ length: records }, (_, index) => get(path(index), 'bench', stack.keys[0]));
    await runWrk({ ...service, requests: lookups }, SATURATION, 6);
    const { requestsPerSecond: capacity } = await runWrk({ ...service, requests: lookups }, SATURATION, 6);
    process.stdout.write(
      `capacity (closed loop, ${SATURATION} connections): ${Math.round(capacity)} lookups a second\n`,
    );
    for (const share of [0.5, 2]) {
      // What was under way when the last load ended has been answered then.
      await Bun.sleep(1000);
      const before = { credits: await spent(stack), answers: await charged(service) };
      const outcome = await fixedRate(service, stack, capacity * share);
      await Bun.sleep(1000);
      const credits = (await spent(stack)) - before.credits;
      describe(share, capacity, outcome, credits, (await charged(service)) - before.answers);
      process.stdout.write(`  memory ${Math.round(residentMb(service.pid))} MB\n`);
    }
  } finally {
    await service.stop();
    await stack.stop();
  }
}

async function fixedRate(service: Service, stack: Stack, perSecond: number): Promise<Outcome> {
  const base = join(tmpdir(), `bench-${randomUUID()}`);
  const addresses = Array.from(
    { length: 5000 },
    (_, index) => `http://${service.host}:${service.port}${path(index)}`,
  );
  await Bun.write(`${base}.uris`, addresses.join('\n'));
  const pace = ['-c', String(clients), '--rps', (perSecond / clients).toFixed(4), '-D', String(seconds)];
  const key = `Authorization: Bearer ${stack.keys[0]}`;
  const files = ['-i', `${base}.uris`, '--log-file', `${base}.log`];
  const load = Bun.spawn(['h2load', '--h1', '-t', '1', ...pace, '-H', key, ...files], {
    stdout: 'ignore',
    stderr: 'inherit',
  });
  if ((await load.exited) !== 0) throw new Error('h2load failed');
  const outcome: Outcome = new Map();
  for (const line of (await Bun.file(`${base}.log`).text()).split('\n')) {
    // When it was sent, the status, and how long it took in microseconds.
    const [, status, us] = line.split('\t').map(Number);
    if (status === undefined || us === undefined) continue;
    const answered = Math.max(status, 0);
    const times = outcome.get(answered);
    if (times === undefined) outcome.set(answered, [us / 1000]);
    else times.push(us / 1000);
  }
  await rm(`${base}.uris`);
  await rm(`${base}.log`);
  return outcome;
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

/** Credits spent by all accounts in their present periods. */
async function spent({ sql }: Stack): Promise<number> {
  const [row] = await sql<{ used: number }[]>`SELECT sum(used)::bigint AS used FROM balances`;
  return row!.used;
}

function describe(share: number, capacity: number, outcome: Outcome, credits: number, answers: number): void {
  const lines = [...outcome].map(([status, times]) => {
    const sorted = times.sort((a, b) => a - b);
    return `  ${status === 0 ? 'none' : status}: ${times.length} answers, p50 ${at(sorted, 0.5)} ms, p99 ${at(sorted, 0.99)} ms`;
  });
  process.stdout.write(
    `${share} × capacity: ${Math.round(capacity * share)} a second for ${seconds} s from ${clients} clients\n${lines.join('\n')}\n` +
      `  credits spent: ${credits}, answers of the service that cost one: ${answers}\n`,
  );
}

function at(sorted: number[], share: number): string {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.toFixed(1);
}

await main();
