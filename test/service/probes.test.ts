/** The ledger's readiness, by a charge of nobody and by the outcomes of batches; the directory's where Postgres searches. */
import { afterAll, afterEach, beforeEach, expect, test } from 'bun:test';
import type { Probe } from '../../src/platform/observability/probe.ts';
import { connectPostgres } from '../../src/platform/postgres/connect.ts';
import { withTimeout } from '../../src/platform/runtime/timeout.ts';
import { createCreditsProbe, storeProbes } from '../../src/service/probes.ts';
import { createTestDatabase } from '../support/database.ts';
import { searchOf } from '../support/search-entries.ts';
import { stopClock } from '../support/stopped-clock.ts';

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
