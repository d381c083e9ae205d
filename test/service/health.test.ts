/** Readiness: who asks, what it says, and the probes of the ledger and of the directory where Postgres searches. */
import { afterAll, afterEach, beforeEach, expect, test } from 'bun:test';
import { createLogTo } from '../../src/platform/observability/log.ts';
import type { Probe } from '../../src/platform/observability/probe.ts';
import { connectPostgres } from '../../src/platform/postgres/connect.ts';
import { withTimeout } from '../../src/platform/runtime/timeout.ts';
import { createHealth } from '../../src/service/health.ts';
import { createCreditsProbe, storeProbes } from '../../src/service/probes.ts';
import { createTestDatabase } from '../support/database.ts';
import { searchOf } from '../support/search-entries.ts';
import { stopClock } from '../support/stopped-clock.ts';

const lines: Record<string, unknown>[] = [];
const log = createLogTo({ write: (line) => void lines.push(JSON.parse(line)) });

/** Readiness of one required dependency. */
const healthOf = (check: Probe['check']) =>
  createHealth([{ name: 'postgres', required: true, check }], () => false, log);

test('requests for readiness at the same time share one question to each dependency; a request after its answer asks again', async () => {
  const questions: PromiseWithResolvers<void>[] = [];
  const health = healthOf(() => {
    questions.push(Promise.withResolvers());
    return questions.at(-1)!.promise;
  });
  for (const [round, isUp] of [true, false, true].entries()) {
    const crowd = Array.from({ length: 100 }, () => health.ready());
    expect(questions).toHaveLength(round + 1);
    if (isUp) questions[round]!.resolve();
    else questions[round]!.reject(new Error('away'));
    const [status, says, of] = isUp ? [200, 'ready', 'up'] : [503, 'unavailable', 'down'];
    for (const response of await Promise.all(crowd)) {
      const expected = { status: says, dependencies: { postgres: { status: of } } };
      expect([response.status, await response.json()]).toEqual([status, expected]);
    }
  }
});

test('the log says once why a dependency is down, and once that it is up again', async () => {
  lines.length = 0;
  const refused = Object.assign(new Error('connect ECONNREFUSED'), {
    code: 'ECONNREFUSED',
    query: 'SELECT 1',
  });
  const outcomes = [null, refused, new Error('still away'), null, null, refused];
  const health = healthOf(async () => {
    const error = outcomes.shift();
    if (error) throw error;
  });
  for (const status of [200, 503, 503, 200, 200, 503]) expect((await health.ready()).status).toBe(status);
  const down = {
    level: 40,
    dependency: 'postgres',
    err: { type: 'Error', code: 'ECONNREFUSED', message: 'connect ECONNREFUSED' },
    msg: 'a dependency is down',
  };
  expect(lines).toMatchObject([
    down,
    { level: 30, dependency: 'postgres', msg: 'a dependency is up again' },
    down,
  ]);
  expect(JSON.stringify(lines)).not.toContain('SELECT');
});

test('what a dependency warns of is shown also while it is down', async () => {
  const check = () => Promise.reject(new Error('a standby'));
  const warning = () => 'run something';
  const health = createHealth([{ name: 'postgres', required: true, check, warning }], () => false, log);
  const answer = await health.ready();
  expect(answer.status).toBe(503);
  expect(await answer.json()).toEqual({
    status: 'unavailable',
    dependencies: { postgres: { status: 'down', warning: 'run something' } },
  });
});

let clock: ReturnType<typeof stopClock>;
let ledger: ReturnType<typeof createCreditsProbe>;
const database = await createTestDatabase('probes');
const pointQueries = connectPostgres(database.url, { max: 1, pointQueries: true });
beforeEach(() => {
  clock = stopClock();
  ledger = createCreditsProbe(pointQueries);
});
afterEach(() => clock.restore());
afterAll(async () => {
  await pointQueries.end({ timeout: 5 });
  await database.drop();
});

const check = ({ check }: Probe) => withTimeout((bound) => check(bound), 5000, 'it');
/** `null` means that the probe passes. */
const complaint = () =>
  check(ledger.probe).then(
    () => null,
    ({ message }) => message,
  );
const DOWN = 'Postgres has charged no batch of credits for seconds';

/** Batches that fail for that long, one a second, although each void is acknowledged. */
function fail(seconds: number): void {
  ledger.note('failed');
  for (let second = 0; second < seconds; second += 1) {
    ledger.note('voided');
    clock.pass(1000);
    ledger.note('failed');
  }
}

test('it charges nobody, and fails if the statement can not run, though nothing was asked for', async () => {
  await check(ledger.probe);
  expect(await database.sql`SELECT 1 FROM call_journal`).toHaveLength(0);
  await database.sql`ALTER TABLE counters RENAME COLUMN used TO spent`;
  await expect(check(ledger.probe)).rejects.toThrow('used');
  await database.sql`ALTER TABLE counters RENAME COLUMN spent TO used`;
  await check(ledger.probe);
});

test('batches that fail for over three seconds are a complaint, although their voids work, until one is charged', async () => {
  fail(2);
  expect(await complaint()).toBeNull();
  fail(2);
  expect(await complaint()).toBe(DOWN);
  ledger.note('charged');
  expect(await complaint()).toBeNull();
});

test('single failures are none, and neither is what failed ten seconds ago', async () => {
  for (let minute = 0; minute < 5; minute += 1) {
    fail(0);
    expect(await complaint()).toBeNull();
    clock.pass(60_000);
  }
  fail(5);
  clock.pass(9000);
  expect(await complaint()).toBe(DOWN);
  clock.pass(2000);
  expect(await complaint()).toBeNull();
});

test('without Elasticsearch the directory is down while its table can not be read', async () => {
  const { sql } = database;
  const stores = { sql, elasticsearch: null, search: searchOf(sql) };
  const directory = storeProbes(stores, () => ({ warning: null })).find(({ name }) => name === 'directory')!;
  await check(directory);
  await sql`ALTER TABLE directory_g000001 RENAME TO away`;
  await expect(check(directory)).rejects.toThrow('directory_g000001');
  await sql`ALTER TABLE away RENAME TO directory_g000001`;
  await check(directory);
});
