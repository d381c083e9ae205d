/** Pages of changes, and the removal of old ones, in Postgres. */
import { afterAll, expect, test } from 'bun:test';
import { purgeChanges } from '../../../src/companies/debts/changes/changes-purge.ts';
import { type PageOptions, readPage } from '../../../src/companies/debts/changes/changes-store.ts';
import { DEBT_KINDS } from '../../../src/companies/debts/kind.ts';
import { openDedicated } from '../../../src/platform/postgres/dedicated.ts';
import { nif } from '../../support/companies.ts';
import { createTestDatabase } from '../../support/database.ts';
import { importBrackets } from './debts-support.ts';

const CHANGES = 200_000;
const TIMES = 10;

const database = await createTestDatabase('changes');
// All of one list, and then one change of the other list.
await database.sql`
  INSERT INTO debt_changes (kind, number, nif, after_start, dataset_date, at)
  SELECT CASE WHEN n = ${CHANGES} THEN 'social-security' ELSE 'tax' END, n, lpad((500000000 + n % 1000)::text, 9, '0'), 1,
    '2026-10-31', now() - (${CHANGES} - n) * interval '40 seconds'
  FROM generate_series(1, ${CHANGES}) AS n`;
await database.sql`UPDATE debt_change_numbers SET last = ${CHANGES}`;
await database.sql`VACUUM ANALYZE debt_changes`;
afterAll(() => database.drop());

const page = (options: Partial<PageOptions>, sql = database.sql) =>
  readPage(sql, { after: null, nifs: null, kinds: DEBT_KINDS, ...options });

test('of 200,000 changes a page reads a few rows by an index, whatever it is of', async () => {
  // Statistics are counted by each session.
  const session = openDedicated(database.url, {});
  const read = async () => {
    await session`SELECT pg_stat_force_next_flush()`;
    const [row] = await session<{ scans: number; rows: number }[]>`
      SELECT seq_scan AS scans, idx_tup_fetch + seq_tup_read AS rows FROM pg_stat_user_tables
      WHERE relname = 'debt_changes'`;
    return row!;
  };
  for (const [options, found] of [
    [{}, 100],
    [{ after: CHANGES - 10 }, 10],
    [{ kinds: ['social-security'] }, 1],
    [{ nifs: [] }, 0],
    [{ nifs: ['599999999'] }, 0],
    [{ nifs: ['500000007'] }, 100],
  ] as [Partial<PageOptions>, number][]) {
    const before = await read();
    // From the sixth time on Postgres may plan for any parameters.
    for (let time = 0; time < TIMES; time += 1)
      expect((await page(options, session)).rows).toHaveLength(found);
    const { scans, rows } = await read();
    expect([options, scans, rows - before.rows]).toEqual([options, before.scans, expect.any(Number)]);
    expect(rows - before.rows).toBeWithin(TIMES * found, TIMES * 202 + 1);
  }
  await session.end();
});

test('old changes are removed in small steps, oldest first, and none while an import holds the numbers', async () => {
  const { sql } = database;
  const [row] = await sql`SELECT count(*) AS old FROM debt_changes WHERE at < now() - interval '90 days'`;
  const old: number = row!.old;
  expect(old).toBeWithin(1000, CHANGES);
  await sql.begin(async (held) => {
    await held`SELECT 1 FROM debt_change_numbers FOR UPDATE`;
    expect(await purgeChanges(sql)).toBe(0);
  });
  expect(await purgeChanges(sql, 500)).toBeWithin(old, old + 10);
  const { removed, rows: changes, last } = await page({});
  expect(last).toBe(CHANGES);
  expect(changes[0]!.number).toBe(removed + 1);
  const [left] = await sql`SELECT count(*) AS rows FROM debt_changes`;
  expect(left!.rows).toBe(CHANGES - removed);
  // Numbers go on behind those that were removed.
  await importBrackets(database, { [nif(1)]: [1, null] });
  await importBrackets(database, { [nif(1)]: [2, null] });
  const later = (await page({ after: CHANGES })).rows;
  expect(later).toHaveLength(1);
  expect(later[0]!.number).toBeGreaterThan(CHANGES);
});

test('after a restore of an older database a reader of the lost one misses no change and gets none that it knows', async () => {
  const { sql } = database;
  const [before] = await sql`SELECT last FROM debt_change_numbers`;
  await importBrackets(database, { [nif(1)]: [3, null] });
  const { last: cursor } = await page({});
  // What a dump of before that import has.
  await sql`DELETE FROM debt_changes WHERE number > ${before!.last}`;
  await sql`UPDATE debt_change_numbers SET last = ${before!.last}`;
  await sql`UPDATE debts SET start_amount = 2 WHERE nif = ${nif(1)}`;

  const restored = await page({ after: cursor });
  expect([restored.rows, restored.last]).toEqual([[], before!.last]);
  expect(restored.highest).toBeGreaterThan(cursor);
  await importBrackets(database, { [nif(1)]: [4, null], [nif(2)]: [1, null] });
  const { rows: changes } = await page({ after: cursor });
  expect(changes.map((change) => change.nif)).toEqual([nif(1), nif(2)]);
});
