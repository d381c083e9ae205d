import { expect, test } from 'bun:test';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createTestDatabase } from '../support/database.ts';

const MIGRATIONS = join(import.meta.dir, '../../src/postgres/migrations');

test('the migration to balances carries every counter over', async () => {
  const database = await createTestDatabase('balances_migration');
  const connection = await database.sql.reserve();
  try {
    // The schema as it was, beside the one that the database was made with.
    await connection.unsafe('CREATE SCHEMA before; SET search_path = before');
    const files = (await readdir(MIGRATIONS)).filter((name) => name.endsWith('.sql')).sort();
    const apply = async (file: string) => connection.unsafe(await Bun.file(join(MIGRATIONS, file)).text());
    for (const file of files.filter((name) => name < '0007')) await apply(file);
    await connection`
      INSERT INTO accounts (id, name, plan, plus_anchor, included_credits, requests_per_minute, period_plan,
        period_start, period_end, used, credits)
      VALUES
        ('acc_free', 'A', 'free', NULL, NULL, NULL, 'free', '2026-11-01T00:00:00Z', '2026-12-01T00:00:00Z', 17, 0),
        ('acc_plus', 'B', 'plus', '2026-01-31T12:00:00Z', 9, 90, 'plus', '2026-10-31T12:00:00Z',
          '2026-11-30T12:00:00Z', 9, 123456789012)`;
    await connection`
      INSERT INTO daily_calls (account_id, day, key_id, kind, calls) VALUES ('acc_plus', '2026-11-20', 'a', 'lookup', 4)`;
    for (const file of files.filter((name) => name >= '0007')) await apply(file);

    const balances = await connection`
      SELECT account_id, plan, plus_anchor, included_credits, period_plan, period_start, period_end, used, credits
      FROM balances ORDER BY account_id`;
    expect(balances.map((row) => ({ ...row }))).toEqual([
      {
        account_id: 'acc_free',
        plan: 'free',
        plus_anchor: null,
        included_credits: null,
        period_plan: 'free',
        period_start: new Date('2026-11-01T00:00:00Z'),
        period_end: new Date('2026-12-01T00:00:00Z'),
        used: 17,
        credits: 0,
      },
      {
        account_id: 'acc_plus',
        plan: 'plus',
        plus_anchor: new Date('2026-01-31T12:00:00Z'),
        included_credits: 9,
        period_plan: 'plus',
        period_start: new Date('2026-10-31T12:00:00Z'),
        period_end: new Date('2026-11-30T12:00:00Z'),
        used: 9,
        credits: 123_456_789_012,
      },
    ]);
    const accounts = await connection`SELECT id, name, requests_per_minute FROM accounts ORDER BY id`;
    expect(accounts.map((row) => ({ ...row }))).toEqual([
      { id: 'acc_free', name: 'A', requests_per_minute: null },
      { id: 'acc_plus', name: 'B', requests_per_minute: 90 },
    ]);
    const [calls] = await connection`SELECT calls FROM calls_by_day WHERE account_id = 'acc_plus'`;
    expect(calls!.calls).toBe(4);
    await expect(connection`UPDATE balances SET used = -1`.execute()).rejects.toThrow('balances_check');
  } finally {
    connection.release();
    await database.drop();
  }
});
