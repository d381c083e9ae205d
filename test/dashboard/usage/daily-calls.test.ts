import { expect, test } from 'bun:test';
import {
  type DailyRow,
  dailyRows,
  daysOf,
  loadDailyCalls,
} from '../../../src/dashboard/usage/daily-calls.ts';
import { createAccount } from '../../../src/metering/accounts/store.ts';
import { storeCallCounts, storeErrorCounts } from '../../support/counts.ts';
import { createTestDatabase } from '../../support/database.ts';

test('the plots have the sums over thousands of keys, the page of a key its own, and the CSV each', async () => {
  const { sql, drop } = await createTestDatabase('daily-calls');
  const { id } = await createAccount(sql, { name: 'Test', plan: 'plus' }, 'test');
  // Key n has n calls a day, and every key an error on the last day, keys 2 and 3 another one.
  await storeCallCounts(
    sql,
    sql`
      SELECT ${id}::text, (now() AT TIME ZONE 'UTC')::date - day, 'key_' || n, CASE WHEN n = 3000 THEN 'debts' ELSE 'search' END, n
      FROM generate_series(0, 9) AS day, generate_series(1, 3000) AS n`,
  );
  await storeErrorCounts(
    sql,
    sql`
      SELECT ${id}::text, (now() AT TIME ZONE 'UTC')::date, 'key_' || n, '4xx', CASE WHEN n IN (2, 3) THEN 2 ELSE 1 END
      FROM generate_series(1, 3000) AS n`,
  );
  const account = { id, period: { start: new Date() } };
  const load = async (ofKey?: string) => {
    const { rows, from, to } = await loadDailyCalls(sql, account, 7, ofKey);
    expect(Date.parse(to) - Date.parse(from)).toBe(6 * 86_400_000);
    const sum = (of: (row: (typeof rows)[number]) => number) =>
      rows.reduce((total, row) => total + of(row), 0);
    return [rows.length, sum((row) => row.search + row.debts), sum((row) => row['4xx'])];
  };
  const calls = 7 * ((3000 * 3001) / 2);
  expect(await load()).toEqual([7, calls, 3002]);
  expect(await load('key_7')).toEqual([7, 49, 1]);
  const parts: DailyRow[][] = [];
  const days = await daysOf(sql, account, 7);
  await sql.begin(async (sql) => {
    for await (const rows of dailyRows(sql, account, days)) parts.push(rows);
  });
  const all = parts.flat();
  expect([all.length, new Set(all.map(({ day, keyId }) => `${day} ${keyId}`)).size]).toEqual([
    7 * 3000,
    7 * 3000,
  ]);
  expect(all.map(({ day }) => day)).toEqual(all.map(({ day }) => day).toSorted());
  expect(all.reduce((sum, row) => sum + row.search + row.debts, 0)).toBe(calls);
  expect(parts.every(({ length }) => length <= 200)).toBe(true);
  await drop();
});
