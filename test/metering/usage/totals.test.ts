/** The sums over an account's keys are those of its rows, whatever writes these (src/metering/credits/daily-counts.ts). */
import { expect, test } from 'bun:test';
import { METERING_DATA } from '../../../src/metering/account-data/metering-data.ts';
import { createAccount } from '../../../src/metering/accounts/account-store.ts';
import { createNotes } from '../../../src/metering/notes/notes.ts';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import { storeCallCounts } from '../../support/counts.ts';
import { createTestDatabase } from '../../support/database.ts';
import { noteProblem } from '../../support/notes.ts';
import { differingTotals } from './totals.ts';

test('writes at once, of the same and of other keys, and removals leave the sums of all rows', async () => {
  const { sql, drop } = await createTestDatabase('totals');
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
  await drop();
});

test('two statements that insert what the other one updates do not wait for each other', async () => {
  const { sql, url, drop } = await createTestDatabase('totals');
  const pools = [1, 2].map(() => connectPostgres(url, { max: 1 }));
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
  await drop();
});
