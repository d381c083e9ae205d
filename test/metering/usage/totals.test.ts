/** The sums over an account's keys are those of its rows, whatever writes these (0001_accounts.sql). */
import { expect, test } from 'bun:test';
import { createAccount } from '../../../src/metering/accounts/store.ts';
import { createErrorAnswers } from '../../../src/metering/usage/error-answers.ts';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';
import { differingTotals } from './totals.ts';

test('writes at once, of the same and of other keys, and removals leave the sums of all rows', async () => {
  const { sql, drop } = await createTestDatabase('totals');
  const { id } = await createAccount(sql, { name: 'Test', plan: 'plus' }, 'test');
  const { id: other } = await createAccount(sql, { name: 'Other', plan: 'plus' }, 'test');
  // Each statement inserts rows of some days and updates those of others.
  const addCalls = (seed: number) => sql`
    INSERT INTO daily_calls AS d (account_id, day, key_id, kind, calls)
    SELECT account, date '2026-11-01' + (n * ${seed}) % 7, 'key_' || n, kind, n
    FROM generate_series(1, 40) AS n, unnest(ARRAY[${id}, ${other}]) AS account, unnest('{lookup,search}'::text[]) AS kind
    WHERE n % 3 = ${seed % 3} ORDER BY 1, 2, 3, 4
    ON CONFLICT (account_id, day, key_id, kind) DO UPDATE SET calls = d.calls + excluded.calls`;
  const addErrors = (seed: number) => {
    const errors = createErrorAnswers(sql);
    for (const accountId of [id, other])
      errors.count({ accountId, keyId: `key_${seed % 3}` }, 'company-not-found', seed % 2);
    return errors.write();
  };
  const seeds = Array.from({ length: 30 }, (_, index) => index + 1);
  await Promise.all(seeds.flatMap((seed) => [addCalls(seed), addErrors(seed)]));
  expect(await differingTotals(sql)).toEqual([]);
  const [{ rows }] = (await sql`SELECT count(*)::int AS rows FROM daily_totals`) as unknown as [
    { rows: number },
  ];
  expect(rows).toBeGreaterThan(20);
  await sql`DELETE FROM daily_error_answers WHERE account_id = ${id}`;
  await sql`DELETE FROM daily_calls WHERE key_id = 'key_1'`;
  expect(await differingTotals(sql)).toEqual([]);
  expect(await sql`SELECT 1 FROM daily_totals WHERE account_id = ${id} AND kind = '4xx'`).toHaveLength(0);
  await sql`UPDATE daily_totals SET calls = calls + 1 WHERE account_id = ${other} AND kind = '4xx'`;
  expect((await differingTotals(sql)).length).toBe(1);
  await drop();
});

test('two statements that insert what the other one updates do not wait for each other', async () => {
  const { sql, url, drop } = await createTestDatabase('totals');
  const pools = [1, 2].map(() => connectPostgres(url, { max: 1 }));
  // Of many accounts one day gets a row, and that of the other day is updated; the other statement the other way round.
  const add = (pool: number, round: number) => pools[pool]!`
    INSERT INTO daily_calls AS d (account_id, day, key_id, kind, calls)
    SELECT 'acc_' || n, date '2026-11-01' + day,
      CASE day WHEN ${pool}::integer THEN ${`new_${pool}_${round}`} ELSE ${`old_${pool}`} END, 'search', 1
    FROM generate_series(1, 300) AS n, generate_series(0, 1) AS day ORDER BY 1, 2, 3
    ON CONFLICT (account_id, day, key_id, kind) DO UPDATE SET calls = d.calls + excluded.calls`;
  for (let round = 0; round < 20; round += 1) await Promise.all([add(0, round), add(1, round)]);
  expect(await differingTotals(sql)).toEqual([]);
  for (const pool of pools) await pool.end();
  await drop();
});
