/** The ledger's readiness, by a charge of nobody and by the outcomes of batches; the directory's where Postgres searches. */
import { afterAll, afterEach, beforeEach, expect, test } from 'bun:test';
import { connectPostgres } from '../../src/platform/postgres/connect.ts';
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

const complaint = () => ledger.probe.complaint!(undefined);
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
  await ledger.probe.check();
  expect(await database.sql`SELECT 1 FROM call_journal`).toHaveLength(0);
  await database.sql`ALTER TABLE balances RENAME COLUMN used TO spent`;
  const failed = Promise.resolve(ledger.probe.check());
  await expect(failed).rejects.toThrow('used');
  await database.sql`ALTER TABLE balances RENAME COLUMN spent TO used`;
  await ledger.probe.check();
});

test('batches that fail for over three seconds are a complaint, although their voids work, until one is charged', () => {
  fail(2);
  expect(complaint()).toBeUndefined();
  fail(2);
  expect(complaint()).toBe(DOWN);
  ledger.note('charged');
  expect(complaint()).toBeUndefined();
});

test('single failures are none, and neither is what failed ten seconds ago', () => {
  for (let minute = 0; minute < 5; minute += 1) {
    fail(0);
    expect(complaint()).toBeUndefined();
    clock.pass(60_000);
  }
  fail(5);
  clock.pass(9000);
  expect(complaint()).toBe(DOWN);
  clock.pass(2000);
  expect(complaint()).toBeUndefined();
});

test('without Elasticsearch the directory is down while its table can not be read', async () => {
  const { sql } = database;
  const stores = { sql, elasticsearch: null, search: searchOf(sql) };
  const { check } = storeProbes(stores, () => ({ ok: true, warnings: [] })).find(
    ({ name }) => name === 'directory',
  )!;
  await check();
  await sql`ALTER TABLE directory_g000001 RENAME TO away`;
  const failed = Promise.resolve(check());
  await expect(failed).rejects.toThrow('directory_g000001');
  await sql`ALTER TABLE away RENAME TO directory_g000001`;
  await check();
});
