/**
 * `bun test/faults/faults.ts --minutes 3 --mode stores`: runs three instances under a steady load of searches, lookups and batches of
 * 100 while Postgres and Redis fail in many ways, accounts are locked, plans change and directories are imported. When all faults
 * have healed, it checks every account's ledger against the answers and their `X-Credits`. Exits 1 if a rule of the ledger does not
 * hold, or an answer took too long. Servers come from the environment (test/README.md, Servers) or are started.
 *
 * `--mode kill` also ends instances. `--mode statements` lets statements fail amid their rows instead.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { companies, generateCompany } from '../../bench/lib/names.ts';
import { startStack, writeDirectory } from '../../bench/lib/stack.ts';
import { watchInterrupts } from '../../src/platform/terminal/interrupt.ts';
import { startServers } from '../servers/servers.ts';
import { nifPtFound, startProvider } from '../support/provider.ts';
import { poll } from '../support/until.ts';
import { createKnownAccounts, type KnownAccount } from './accounts.ts';
import { type AuditRow, audit } from './audit.ts';
import { type Changes, startChanges } from './changes.ts';
import { type Fleet, type Instance, startFleet } from './fleet.ts';
import { failStatements, type Injector, LONGEST_MS, startFaults } from './inject.ts';
import { type Load, startLoad } from './load.ts';

const { values: options } = parseArgs({
  options: {
    mode: { type: 'string', default: 'stores' },
    minutes: { type: 'string', default: '3' },
    seed: { type: 'string', default: '1' },
  },
});

const INSTANCES = 3;
const REQUESTS_PER_SECOND = 120;
/** Over 500 in three minutes. */
const FAULTS_PER_SECOND = 4;
const COMPANIES = 500;
/** The source knows so many of the companies. */
const KNOWN_COMPANIES = 400;
/** The service has refunded everything that it owes by then. */
const SETTLE_TIMEOUT_MS = 60_000;
const READY_TIMEOUT_MS = 10_000;
const PROVIDER_TIMEOUT_MS = 2000;
/** The bound of a lookup (docs/api.md: refresh), and the longest pause of its instance. */
const SLOWEST_ANSWER_MS = 2 * PROVIDER_TIMEOUT_MS + 1000 + LONGEST_MS.pause;
/** It may wait for another sending first (docs/api.md: Idempotency-Key). */
const SLOWEST_KEYED_ANSWER_MS = 20_000 + SLOWEST_ANSWER_MS;

const MODES = ['stores', 'kill', 'statements'] as const;
const mode = options.mode as (typeof MODES)[number];
if (!MODES.includes(mode)) throw new Error(`--mode is one of ${MODES.join(', ')}`);
const seed = Number(options.seed);
const cleanups: (() => Promise<unknown>)[] = [];
const interrupts = watchInterrupts(new Error('interrupted'));

type Ready = Awaited<ReturnType<typeof prepare>>;

async function main(): Promise<number> {
  try {
    return await underFaults(await prepare());
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup().catch((error) => console.error(String(error)));
    interrupts.release();
  }
}

/** Everything but the service: the stores with its accounts, a source, and the files of two directories. */
async function prepare() {
  const folder = await mkdtemp(join(tmpdir(), 'faults-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const servers = await startServers({ purpose: 'tests' });
  cleanups.push(servers.stop);
  const provider = await startProvider();
  cleanups.push(provider.close);
  for (let index = 0; index < KNOWN_COMPANIES; index += 1) {
    const { nif } = generateCompany(index);
    provider.answer(nif, nifPtFound(nif));
  }
  const stack = await startStack({ companies: COMPANIES, redisDatabase: 3, servers });
  cleanups.push(stack.stop);
  const environment = {
    ...stack.environment,
    NIF_PT_URL: `${provider.url}/`,
    NIF_PT_KEY: 'faults',
    PROVIDER_TIMEOUT_MS: String(PROVIDER_TIMEOUT_MS),
  };
  const files = [join(folder, 'companies.csv'), join(folder, 'more-companies.csv')];
  for (const [index, file] of files.entries()) await writeDirectory(file, companies(COMPANIES * (index + 1)));
  const accounts = await createKnownAccounts(stack.sql);
  return { sql: stack.sql, accounts, environment, files };
}

async function underFaults({ sql, accounts, environment, files }: Ready): Promise<number> {
  let injector: Injector | undefined;
  const isEnding = (instance: Instance) => injector?.ending.has(instance) ?? false;
  const fleet = await startFleet(INSTANCES, environment, isEnding);
  cleanups.push(fleet.stop);
  const load = startLoad(fleet.instances, accounts, {
    perSecond: REQUESTS_PER_SECOND,
    companies: COMPANIES,
    seed,
  });
  const changes = startChanges(sql, accounts, load, files.toReversed(), environment);
  injector =
    mode === 'statements'
      ? await failStatements(sql)
      : startFaults(fleet.instances, { mode, perSecond: FAULTS_PER_SECOND, seed, sql, accounts });
  // An interrupt ends the wait, and its timer.
  await sleep(Number(options.minutes) * 60_000, null, { signal: interrupts.signal }).catch(() => {});
  await injector.stop();
  await changes.stop();
  const unready = await waitUntilReady(fleet);
  await load.stop();
  for (const { accountId, credits } of injector.ended.flatMap(({ doubtful }) => doubtful)) {
    load.seen.get(accountId)!.doubtful += credits;
  }
  const all = [...accounts, ...changes.spent];
  /** Audits until no rule is violated, because the service refunds what it owes after the faults, within a bounded time. */
  const settle = (drained: KnownAccount[]) =>
    poll(
      async () => {
        // A refund may come back after the last call.
        await Promise.all(drained.map(load.drain));
        return audit(sql, all, load.seen, { isWhole: mode !== 'kill', isDrained: drained.length > 0 });
      },
      (rows) => rows.every(({ violations }) => violations.length === 0),
      SETTLE_TIMEOUT_MS,
    );
  const beganAtMs = performance.now();
  await settle([]);
  const settledMs = performance.now() - beganAtMs;
  const rows = await settle(accounts.filter(({ budget }) => budget !== null));
  report(rows.slice(0, accounts.length), load, injector, changes, settledMs);
  const failures = [
    ...rows.flatMap(({ violations }) => violations),
    ...fleet.crashes.map((name) => `${name} ended by itself`),
    ...unready.map((name) => `${name} is not ready ${READY_TIMEOUT_MS / 1000} s after the last fault`),
    ...new Set(load.wrong.map((answer) => `answered ${answer}`)),
    ...new Set(changes.failed),
    ...(load.slowestMs > SLOWEST_ANSWER_MS ? [`the slowest answer took over ${SLOWEST_ANSWER_MS} ms`] : []),
    ...(load.slowestKeyedMs > SLOWEST_KEYED_ANSWER_MS
      ? [`the slowest answer with an Idempotency-Key took over ${SLOWEST_KEYED_ANSWER_MS} ms`]
      : []),
  ];
  for (const failure of failures) process.stdout.write(`VIOLATION: ${failure}\n`);
  process.stdout.write(failures.length === 0 ? 'every rule holds\n' : `${failures.length} violations\n`);
  return failures.length === 0 ? 0 : 1;
}

/** @returns the instances that were not ready in time */
async function waitUntilReady({ instances }: Fleet): Promise<string[]> {
  const isReady = async ({ run }: Instance) =>
    run !== null &&
    (await fetch(`http://${run.service.host}:${run.service.port}/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    ));
  const readUnready = async () => {
    const ready = await Promise.all(instances.map(isReady));
    return instances.filter((_, index) => !ready[index]);
  };
  const unready = await poll(readUnready, ({ length }) => length === 0, READY_TIMEOUT_MS);
  return unready.map(({ name }) => name);
}

function report(
  rows: AuditRow[],
  load: Load,
  { faults }: Injector,
  { plans, budgets, imports, spent }: Changes,
  settledMs: number,
): void {
  const listed = (counts: Map<string, number>) =>
    [...counts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, count]) => `${name}: ${count}`)
      .join(', ');
  const total = [...faults.values()].reduce((sum, count) => sum + count, 0);
  process.stdout.write(
    `mode ${mode}, seed ${seed}, ${options.minutes} minutes\n\n${total} faults: ${listed(faults)}\n\n` +
      `${plans} changes of plan, ${budgets} raised budgets, ${imports} imports, ` +
      `${spent.length} accounts' last credits, each by one request, twice at once\n\n` +
      `answers: ${listed(load.answers)}\n\nslowest answer ${(load.slowestMs / 1000).toFixed(1)} s of ${SLOWEST_ANSWER_MS / 1000}, ` +
      `with an Idempotency-Key ${(load.slowestKeyedMs / 1000).toFixed(1)} s of ${SLOWEST_KEYED_ANSWER_MS / 1000}, ` +
      `ledger read ${(settledMs / 1000).toFixed(1)} s after the last answer\n\n`,
  );
  console.table(rows.map(({ violations, ...row }) => ({ ...row, violations: violations.join('; ') })));
}

process.exitCode = await main();
