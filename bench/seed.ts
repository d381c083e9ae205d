/**
 * `bun bench/seed.ts RECORDS ACCOUNTS` adds the accounts and records of a benchmark to the database of `DATABASE_URL`, into which
 * companies have been imported, and prints the keys as JSON. Each revision runs its own, which knows its schema.
 */

import { readDirectory } from '../src/companies/directory/generations.ts';
import { createAccount } from '../src/metering/accounts/account-store.ts';
import { changeLimits } from '../src/metering/accounts/changes.ts';
import { createKey } from '../src/metering/keys/key-store.ts';
import { connectPostgres, type Sql } from '../src/platform/postgres/connect.ts';

/** One key of each account. */
export interface SeededKeys {
  /** No limit binds these accounts. */
  rich: string[];
  /** One request a minute: nearly all are refused by the rate limit. */
  limited: string[];
  /** No credits: every search and lookup is refused. */
  exhausted: string[];
}

interface Limits {
  requestsPerMinute: number;
  includedCredits: number;
}

const UNBOUND: Limits = { requestsPerMinute: 10_000_000, includedCredits: 1_000_000_000 };
const LIMITED: Limits = { ...UNBOUND, requestsPerMinute: 1 };
const EXHAUSTED: Limits = { ...UNBOUND, includedCredits: 0 };

/** Accounts that the refusals of one benchmark are spread over. */
const REFUSED_ACCOUNTS = 100;

const ACTOR = 'bench';

/** Stores fresh records of the first companies, a tenth of them with a tax debt. */
async function storeRecords(sql: Sql, records: number): Promise<void> {
  await sql`
    INSERT INTO companies (nif, details, source, fetched_at)
    SELECT nif, json_strip_nulls(json_build_object(
      'title', legal_name, 'address', 'Rua da Liberdade, 12', 'zipcode', '1250-096', 'city', 'LISBOA',
      'activity', 'Comércio por grosso', 'status', 'active', 'cae', '46900', 'structure', json_build_object(
        'nature', 'LDA', 'capital', '5000.00', 'capital_currency', 'EUR'))), 'nif.pt', now()
    FROM ${sql((await readDirectory(sql)).current.table)} ORDER BY nif LIMIT ${records}`;
  await sql`INSERT INTO debt_datasets (kind, dataset_date, rows, imported_by) VALUES ('tax', '2026-11-01', 0, ${ACTOR})`;
  await sql`
    INSERT INTO debts (kind, nif, start_amount, end_amount)
    SELECT 'tax', nif, 7500, 25000 FROM companies WHERE nif LIKE '%0'`;
}

/** Creates accounts with these limits. @returns one key of each */
async function createAccounts(sql: Sql, accounts: number, limits: Limits): Promise<string[]> {
  const keys: string[] = [];
  const createOne = async (number: number) => {
    const { id } = await createAccount(sql, { name: `Bench ${number}`, plan: 'plus' }, ACTOR);
    await changeLimits(sql, id, limits, ACTOR);
    keys[number] = (await createKey(sql, id, '', ACTOR)).secret;
  };
  let next = 0;
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (next < accounts) await createOne(next++);
    }),
  );
  return keys;
}

if (import.meta.main) {
  const [records, accounts] = process.argv.slice(2).map(Number);
  const sql = connectPostgres(process.env.DATABASE_URL!);
  await storeRecords(sql, records!);
  const keys: SeededKeys = {
    rich: await createAccounts(sql, accounts!, UNBOUND),
    limited: await createAccounts(sql, REFUSED_ACCOUNTS, LIMITED),
    exhausted: await createAccounts(sql, REFUSED_ACCOUNTS, EXHAUSTED),
  };
  // Writes the import's dirty pages now, not in the middle of a measurement.
  await sql`VACUUM ANALYZE`;
  await sql`CHECKPOINT`;
  await sql.end();
  process.stdout.write(JSON.stringify(keys));
}
