/** The migrations after 0.1.0 carry its rows over, and a process of 0.1.0 loses nothing beside the new tables. */
import { afterAll, expect, test } from 'bun:test';
import { createAccount } from '../../src/metering/accounts/store.ts';
import { rollUpCalls } from '../../src/metering/credits/rollup.ts';
import { migrate } from '../../src/platform/postgres/migrate.ts';
import { createReleasedDatabase } from '../support/released.ts';
import { differingTotals } from './usage/totals.ts';

const database = await createReleasedDatabase('upgrade');
const { sql } = database;
afterAll(() => database.drop());

/** What a process of 0.1.0 has written: counted calls and errors, and a charge that waits for its roll-up. */
async function writeAsReleased(accountId: string): Promise<void> {
  await sql`
    INSERT INTO daily_calls VALUES (${accountId}, '2026-11-01', 'key_a', 'search', 5), (${accountId}, '2026-11-01', '', 'lookup', 2)`;
  await sql`
    INSERT INTO daily_error_answers VALUES
      (${accountId}, '2026-11-01', 'key_a', '4xx', 3, 3), (${accountId}, '2026-11-02', 'key_b', '401', 7, 0)`;
  await sql`
    INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls)
    VALUES (gen_random_uuid(), '2026-11-01T10:00:00Z', ${[accountId]}, '{key_a}', '{search}', '{4}')`;
}

test('sums of days are carried over, their old names can be read, and a roll-up of 0.1.0 is done by a new process', async () => {
  const { id } = await createAccount(sql, { name: 'Old', plan: 'free' }, 'test');
  await writeAsReleased(id);
  const views = [
    'call_counts',
    'calls_by_day',
    'account_counts',
    'daily_calls',
    'daily_error_answers',
    'daily_totals',
  ];
  const read = () =>
    Promise.all(
      views.map(
        (view) => sql`SELECT to_jsonb(v) AS row FROM ${sql(view)} AS v WHERE account_id = ${id} ORDER BY 1`,
      ),
    );
  const before = await read();
  expect(before.every(({ length }) => length > 0)).toBe(true);
  await migrate(database.url);
  expect(await read()).toEqual(before);
  expect(await differingTotals(sql)).toEqual([]);

  const rollUpAsReleased = sql`
    WITH batch AS (UPDATE call_journal SET counted = true WHERE NOT counted RETURNING *), entry AS (
      SELECT entry.* FROM batch, unnest(account_ids, key_ids, kinds, batch.calls) AS entry (account_id, key_id, kind, calls))
    INSERT INTO daily_calls AS daily (account_id, day, key_id, kind, calls)
    SELECT account_id, '2026-11-01', key_id, kind, calls FROM entry
    ON CONFLICT (account_id, day, key_id, kind) DO UPDATE SET calls = daily.calls + excluded.calls`;
  await expect(rollUpAsReleased).rejects.toThrow('cannot insert into view "daily_calls"');
  expect((await rollUpCalls(sql)).rows).toBe(1);
  expect(
    await sql`SELECT calls FROM calls_by_day WHERE account_id = ${id} AND kind = 'search'`,
  ).toMatchObject([{ calls: 9 }]);
  expect(await differingTotals(sql)).toEqual([]);
});
