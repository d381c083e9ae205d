import { expect, test } from 'bun:test';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDetails } from '../../src/lookup/present.ts';
import { findCompanies } from '../../src/lookup/store.ts';
import type { Sql } from '../../src/postgres/connect.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

type ReservedSql = Awaited<ReturnType<TestDatabase['sql']['reserve']>>;

const MIGRATIONS = join(import.meta.dir, '../../src/postgres/migrations');

/** Runs `fill` in a schema of the migrations before `number`, then the others, then `check`. */
async function carryOver(
  number: string,
  fill: (connection: ReservedSql) => Promise<unknown>,
  check: (connection: ReservedSql) => Promise<unknown>,
): Promise<void> {
  const database = await createTestDatabase(`carried_over_${number}`);
  const connection = await database.sql.reserve();
  try {
    // The schema as it was, beside the one that the database was made with.
    await connection.unsafe('CREATE SCHEMA before; SET search_path = before');
    const files = (await readdir(MIGRATIONS)).filter((name) => name.endsWith('.sql')).sort();
    const apply = async (file: string) => connection.unsafe(await Bun.file(join(MIGRATIONS, file)).text());
    for (const file of files.filter((name) => name < number)) await apply(file);
    await fill(connection);
    for (const file of files.filter((name) => name >= number)) await apply(file);
    await check(connection);
  } finally {
    connection.release();
    await database.drop();
  }
}

test('the migration to balances carries every counter over', async () => {
  await carryOver(
    '0007',
    async (connection) => {
      await connection`
        INSERT INTO accounts (id, name, plan, plus_anchor, included_credits, requests_per_minute, period_plan,
          period_start, period_end, used, credits)
        VALUES
          ('acc_free', 'A', 'free', NULL, NULL, NULL, 'free', '2026-11-01T00:00:00Z', '2026-12-01T00:00:00Z', 17, 0),
          ('acc_plus', 'B', 'plus', '2026-01-31T12:00:00Z', 9, 90, 'plus', '2026-10-31T12:00:00Z',
            '2026-11-30T12:00:00Z', 9, 123456789012)`;
      await connection`
        INSERT INTO daily_calls (account_id, day, key_id, kind, calls) VALUES ('acc_plus', '2026-11-20', 'a', 'lookup', 4)`;
    },
    async (connection) => {
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
    },
  );
});

test('records become documents that are answered as before, with the debts of their companies', async () => {
  const title = 'Ábaco "& Filhos" \\, Lda\u{1f600}';
  await carryOver(
    '0008',
    async (connection) => {
      await connection`
        INSERT INTO companies (nif, title, address, zipcode, city, activity, status, cae, nature, capital,
          capital_currency, source, fetched_at)
        VALUES
          ('500002576', ${title}, 'Rua A', '1000-001', 'Lisboa', 'Comércio', 'active', '62010', 'LDA', '5000.00',
            'EUR', 'nif.pt', '2026-11-20T10:00:00.123Z'),
          ('500002568', 'Vazia', '', '', '', '', '', '', '', '0', 'EUR', 'vies', '2026-11-19T10:00:00Z')`;
      await connection`
        INSERT INTO debt_datasets (kind, dataset_date, rows, imported_by) VALUES
          ('tax', '2026-10-31', 1, 'test'), ('social-security', '2026-11-01', 1, 'test')`;
      await connection`
        INSERT INTO debts (kind, nif, start_amount, end_amount) VALUES
          ('tax', '500002576', 7500, 25000), ('social-security', '500002576', 1000000, NULL)`;
    },
    async (connection) => {
      const sql = connection as unknown as Sql;
      const companies = await findCompanies(sql, ['500002576', '500002568', '999999990'], 3600);
      expect(companies.size).toBe(2);
      const { details, ...company } = companies.get('500002576')!;
      expect(details).toBe(
        writeDetails({
          title,
          address: 'Rua A',
          zipcode: '1000-001',
          city: 'Lisboa',
          activity: 'Comércio',
          status: 'active',
          cae: '62010',
          nature: 'LDA',
          capital: '5000.00',
          capitalCurrency: 'EUR',
        }),
      );
      expect(company).toEqual({
        nif: '500002576',
        source: 'nif.pt',
        fetchedAt: '2026-11-20 10:00:00.123+00',
        fresh: false,
        debts: {
          tax: { start: 7500, end: 25_000, lastUpdated: '2026-10-31' },
          'social-security': { start: 1_000_000, end: null, lastUpdated: '2026-11-01' },
        },
      });
      expect(companies.get('500002568')!.debts).toEqual({});
    },
  );
});
