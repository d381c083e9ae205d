import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createCredits } from '../../src/credits/admit.ts';
import { rollUpCalls } from '../../src/credits/rollup.ts';
import { reverseVoided } from '../../src/credits/void.ts';
import { connectPostgres, type Sql } from '../../src/postgres/connect.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { createEmptyDatabase } from '../support/database.ts';
import { admit, ledgerOf } from './ledger.ts';

const MIGRATIONS = join(import.meta.dir, '../../src/postgres/migrations');
/** The last migration of commit 762c49e, whose own code wrote the rows of the dump. */
const LAST = '0011';

let database: { url: string; drop(): Promise<void> };
let sql: Sql;
beforeAll(async () => {
  database = await createEmptyDatabase('migration');
  sql = connectPostgres(database.url, { max: 3 });
});
afterAll(async () => {
  await sql.end({ timeout: 5 });
  await database.drop();
});

async function restoreDump(): Promise<void> {
  await sql`CREATE TABLE schema_migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`;
  for (const file of (await readdir(MIGRATIONS)).sort()) {
    if (!file.endsWith('.sql') || file.slice(0, 4) > LAST) continue;
    await sql.unsafe(await Bun.file(join(MIGRATIONS, file)).text());
    await sql`INSERT INTO schema_migrations (name) VALUES (${file.slice(0, -'.sql'.length)})`;
  }
  const dump: Record<string, object[]> = await Bun.file(join(import.meta.dir, 'ledger-762c49e.json')).json();
  for (const [table, rows] of Object.entries(dump)) {
    await sql`INSERT INTO ${sql(table)} SELECT * FROM json_populate_recordset(null::${sql(table)}, ${JSON.stringify(rows)}::text::json)`;
  }
}

const counters = () => sql`
  SELECT account_id, used, used_purchased, credits, period_plan, period_start, period_end FROM balances ORDER BY account_id`;
const days = () => sql`
  SELECT account_id, day::text, key_id, kind, calls FROM calls_by_day ORDER BY account_id, day, key_id, kind`;

test('open periods, calls in the journal and returned ones of commit 762c49e keep every counter', async () => {
  await restoreDump();
  const before = { counters: [...(await counters())], days: [...(await days())] };
  expect(before.counters.map(({ used, credits }) => [used, credits])).toEqual([
    [2, 3], // three calls of which one was returned
    [11, 4], // past the allowance, in part rolled up
    [2, 2], // of a period that is over
    [4, 0], // of a Plus period that is open
  ]);
  // One charge that was not rolled up, and one call that was returned.
  expect(await sql`SELECT attempt IS NULL AS returned FROM call_journal ORDER BY 1`).toEqual([
    { returned: false },
    { returned: true },
  ] as never);

  await migrate(sql);
  expect({ counters: [...(await counters())], days: [...(await days())] }).toEqual(before);
  expect(await sql`SELECT to_regclass('moved_calls') AS a, to_regclass('give_backs') AS b`).toEqual([
    { a: null, b: null },
  ] as never);

  const open = before.counters[3]!.account_id;
  await sql`UPDATE balances SET included_credits = 100`;
  await admit(createCredits(sql), open);
  await rollUpCalls(sql);
  await reverseVoided(sql);
  expect((await ledgerOf(sql, open)).calls).toBe(5);
});
