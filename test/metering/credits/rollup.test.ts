import { afterAll, expect, test } from 'bun:test';
import { METERING_DATA } from '../../../src/metering/account-data/metering-data.ts';
import { createAccount } from '../../../src/metering/accounts/account-store.ts';
import { createCredits } from '../../../src/metering/credits/charge.ts';
import { purgeJournal, rollUpCalls, startCallRollup } from '../../../src/metering/credits/rollup.ts';
import { voidAttempt } from '../../../src/metering/credits/void.ts';
import { createNotes } from '../../../src/metering/notes/notes.ts';
import { createLogTo } from '../../../src/platform/observability/log.ts';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import { createCleanup } from '../../../src/platform/runtime/shutdown.ts';
import { storeCallCounts } from '../../support/counts.ts';
import { createTestDatabase } from '../../support/database.ts';
import { lockRow } from '../../support/locks.ts';
import { noteProblem } from '../../support/notes.ts';
import { createCaller } from '../../support/service.ts';
import { stopClock } from '../../support/stopped-clock.ts';
import { attemptsOf, chargeMany, chargeOne, differingTotals, ledgerOf } from './ledger.ts';

const database = await createTestDatabase('rollup');
const sql = database.sql;
afterAll(() => database.drop());

const callsOf = async (from: 'calls_by_day' | 'key_counts', accountId: string) => {
  const rows = await sql`
    SELECT key_id AS key, kind, calls FROM ${sql(from)} WHERE account_id = ${accountId} ORDER BY key_id, kind`;
  return rows.map((row) => ({ ...row }));
};

test('calls are read the same before and after the roll-up, and rolling up again changes nothing', async () => {
  const { accountId } = await createCaller(sql, { included: 100 });
  const credits = createCredits(sql);
  const call = (keyId: string, kind: 'search' | 'lookup') =>
    credits.charge({ accountId, keyId, kind, credits: 1 });
  await Promise.all([call('a', 'search'), call('a', 'search'), call('b', 'lookup')]);
  await call('a', 'search');
  const counted = [
    { key: 'a', kind: 'search', calls: 3 },
    { key: 'b', kind: 'lookup', calls: 1 },
  ];
  expect(await callsOf('calls_by_day', accountId)).toEqual(counted);
  expect(await callsOf('key_counts', accountId)).toEqual([]);
  expect(await rollUpCalls(sql)).toEqual({ rows: 2, isFull: false });
  expect(await callsOf('key_counts', accountId)).toEqual(counted);
  expect(await callsOf('calls_by_day', accountId)).toEqual(counted);
  await call('b', 'lookup');
  expect((await callsOf('calls_by_day', accountId))[1]).toEqual({ key: 'b', kind: 'lookup', calls: 2 });
  expect(await rollUpCalls(sql)).toEqual({ rows: 1, isFull: false });
  expect(await rollUpCalls(sql)).toEqual({ rows: 0, isFull: false });
  expect((await callsOf('calls_by_day', accountId))[1]).toEqual({ key: 'b', kind: 'lookup', calls: 2 });
});

test('a transaction that has locked an account delays nobody’s roll-up, not even its own', async () => {
  const callers = await Promise.all([1, 2].map(() => createCaller(sql, { included: 10 })));
  for (const { accountId } of callers) await chargeOne(createCredits(sql), accountId);
  const impatient = connectPostgres(database.url, { max: 1, lockTimeoutMs: 100 });
  const locks = [
    await lockRow(sql, callers[0]!.accountId, 'accounts'),
    await lockRow(sql, callers[0]!.accountId),
  ];
  await rollUpCalls(impatient);
  await purgeJournal(impatient);
  for (const { accountId } of callers) {
    expect(await callsOf('key_counts', accountId)).toEqual([{ key: '', kind: 'search', calls: 1 }]);
  }
  for (const lock of locks) await lock.release();
  await impatient.end();
});

test('after an outage of over ten minutes a void still finds its batch, and half a minute later the journal forgets', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  await chargeMany(createCredits(sql), accountId, 2);
  await sql`UPDATE call_journal SET spent_at = now() - interval '11 minutes'`;
  await sql`UPDATE balances SET period_opened_at = '-infinity' WHERE account_id = ${accountId}`;
  const [attempt] = await attemptsOf(sql, accountId);
  const tasks = createCleanup();
  const clock = stopClock();
  try {
    const rollups = startCallRollup(sql, createLogTo({ write() {} }), tasks);
    await rollups.run();
    await voidAttempt(sql, attempt!);
    await rollups.run();
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
    clock.pass(31_000);
    await rollups.run();
    expect(await sql`SELECT 1 FROM call_journal WHERE attempt = ${attempt!}`).toHaveLength(0);
  } finally {
    clock.restore();
    await tasks.runInParallel();
  }
});

test('the journal forgets a counted batch after ten minutes, and one that is to be returned never', async () => {
  const [old, recent, uncounted, doubtful] = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const { accountId } = await createCaller(sql, { included: 10 });
      await chargeOne(createCredits(sql), accountId);
      return { accountId, attempt: (await attemptsOf(sql, accountId))[0]! };
    }),
  );
  await sql`UPDATE call_journal SET counted = true WHERE attempt <> ${uncounted!.attempt}`;
  await sql`UPDATE call_journal SET owed = true WHERE attempt = ${doubtful!.attempt}`;
  await sql`UPDATE call_journal SET spent_at = now() - interval '11 minutes' WHERE attempt <> ${recent!.attempt}`;
  await purgeJournal(sql);
  for (const { accountId } of [recent!, uncounted!, doubtful!]) {
    expect(await attemptsOf(sql, accountId)).toHaveLength(1);
  }
  expect(await attemptsOf(sql, old!.accountId)).toEqual([]);
});

test('writes at once, of the same and of other keys, and removals leave the sums of all rows', async () => {
  await using own = await createTestDatabase('totals');
  const { sql } = own;
  const { id } = await createAccount(sql, { name: 'Test', plan: 'plus' }, 'test');
  const { id: other } = await createAccount(sql, { name: 'Other', plan: 'plus' }, 'test');
  // Each statement inserts rows of some days and updates those of others.
  const addCalls = (seed: number) =>
    storeCallCounts(
      sql,
      sql`
        SELECT account, date '2026-11-01' + (n * ${seed}) % 7, 'key_' || n, kind, n
        FROM generate_series(1, 40) AS n, unnest(ARRAY[${id}, ${other}]) AS account, unnest('{lookup,search}'::text[]) AS kind
        WHERE n % 3 = ${seed % 3}`,
    );
  const addErrors = (seed: number) => {
    const errors = createNotes(sql);
    for (const accountId of [id, other])
      noteProblem(errors, { accountId, keyId: `key_${seed % 3}` }, 'company-not-found', { spent: seed % 2 });
    return errors.write();
  };
  const seeds = Array.from({ length: 30 }, (_, index) => index + 1);
  await Promise.all(seeds.flatMap((seed) => [addCalls(seed), addErrors(seed)]));
  expect(await differingTotals(sql)).toEqual([]);
  const totals = sql`key_id = '*' AND kind = '4xx'`;
  expect(await sql`SELECT 1 FROM daily_counts WHERE key_id = '*' AND hour = -1`).not.toHaveLength(0);
  // The hours of a day are its sum, too.
  expect(
    await sql`
      SELECT 1 FROM daily_counts WHERE key_id = '*' GROUP BY account_id, day, kind
      HAVING sum(calls) FILTER (WHERE hour = -1) <> sum(calls) FILTER (WHERE hour >= 0)`,
  ).toHaveLength(0);
  await METERING_DATA.removeInParts!(sql, id);
  expect(await differingTotals(sql)).toEqual([]);
  expect(await sql`SELECT 1 FROM daily_counts WHERE account_id = ${id} AND ${totals}`).toHaveLength(0);
  await sql`UPDATE daily_counts SET calls = calls + 1 WHERE account_id = ${other} AND ${totals} AND hour = -1`;
  expect((await differingTotals(sql)).length).toBe(1);
});

test('two statements that insert what the other one updates do not wait for each other', async () => {
  const pools = [1, 2].map(() => connectPostgres(database.url, { max: 1 }));
  // Of many accounts one day gets a row, and that of the other day is updated; the other statement the other way round.
  const add = (pool: number, round: number) =>
    storeCallCounts(
      pools[pool]!,
      pools[pool]!`
        SELECT 'acc_' || n, date '2026-11-01' + day,
          CASE day WHEN ${pool}::integer THEN ${`new_${pool}_${round}`} ELSE ${`old_${pool}`} END, 'search', 1
        FROM generate_series(1, 300) AS n, generate_series(0, 1) AS day`,
    );
  for (let round = 0; round < 20; round += 1) await Promise.all([add(0, round), add(1, round)]);
  expect(await differingTotals(sql)).toEqual([]);
  for (const pool of pools) await pool.end();
});
