/** Fills the tables of generations by set-based SQL. */

import type { Sql } from '../../platform/postgres/connect.ts';
import { copyInto, copyValue } from '../../platform/postgres/copy.ts';
import { quoted } from '../../platform/postgres/identifier.ts';
import { STAGING } from '../ingest/staging.ts';
import { vocabularyStatements } from '../resolve/vocabulary-table.ts';
import { directoryRow } from '../search/document.ts';
import { searchIndexStatements } from '../search/postgres-store.ts';
import { wordsIndexStatement } from '../search/words-index.ts';
import type { Generation } from './generations.ts';
import { type LoadOptions, readPages } from './indexing/load.ts';

const COLUMNS = 'nif, legal_name, normalized_name, sort_key';

export interface Difference {
  /** New, or with another legal name. */
  imported: number;
  unchanged: number;
  /** In the directory, but not in a file that replaces it. */
  removed: number;
  /** In the directory when the import is done. */
  rows: number;
}

export async function compareStaged(
  sql: Sql,
  { tableName, rows: present }: Pick<Generation, 'tableName' | 'rows'>,
  replace: boolean,
): Promise<Difference> {
  const [row] = await sql.unsafe<{ usable: number; known: number; unchanged: number }[]>(`
    SELECT count(*) AS usable, count(present.nif) AS known,
      count(*) FILTER (WHERE present.legal_name = staged.legal_name) AS unchanged
    FROM ${STAGING} staged LEFT JOIN ${quoted(tableName)} present USING (nif)`);
  const { usable, known, unchanged } = row!;
  return {
    imported: usable - unchanged,
    unchanged,
    removed: replace ? present - known : 0,
    rows: replace ? usable : present + usable - known,
  };
}

/**
 * Fills a generation's table with the staged rows and the other rows of `base`, in the order of results. Matches in Postgres rely
 * on it (src/companies/matches/matches-postgres.ts), and both stores index sorted rows faster. `finishTable` completes the table.
 * @param base `null` if the staged rows are the whole directory
 */
export async function fillTable(sql: Sql, table: string, base: string | null): Promise<void> {
  const staged = `SELECT ${COLUMNS} FROM ${STAGING}`;
  const rows =
    base === null
      ? staged
      : `SELECT ${COLUMNS} FROM ${quoted(base)} present
          WHERE NOT EXISTS (SELECT FROM ${STAGING} staged WHERE staged.nif = present.nif)
        UNION ALL ${staged}`;
  await sql.unsafe(`CREATE TABLE ${quoted(table)} AS ${rows} ORDER BY sort_key, nif`);
}

/** A copy of a generation's table with its normalized columns computed by this version. `finishTable` completes it. */
export async function copyNormalized(
  sql: Sql,
  { tableName: from, rows }: Pick<Generation, 'tableName' | 'rows'>,
  table: string,
  { signal, progress }: LoadOptions,
): Promise<void> {
  progress.phase('normalizing names again');
  const unsorted = `${table}_unsorted`;
  await sql.unsafe(`CREATE TEMPORARY TABLE ${quoted(unsorted)} (LIKE ${quoted(from)})`);
  let done = 0;
  for await (const page of readPages(sql, from, signal)) {
    const copy = await copyInto(sql, `${quoted(unsorted)} (${COLUMNS})`);
    for (const { nif, legal_name } of page) {
      const { normalized_name, sort_key } = directoryRow(nif, legal_name);
      const fields = [nif, legal_name, normalized_name, sort_key].map(copyValue);
      await copy.write(`${fields.join('\t')}\n`);
    }
    await copy.finish();
    done += page.length;
    progress.update(done, done / rows);
  }
  await sql.unsafe(
    `CREATE TABLE ${quoted(table)} AS SELECT ${COLUMNS} FROM ${quoted(unsorted)} ORDER BY sort_key, nif`,
  );
  await sql.unsafe(`DROP TABLE ${quoted(unsorted)}`);
}

/** A copy of a table in the order of results. `finishTable` completes it. */
export async function copySorted(sql: Sql, from: string, table: string): Promise<void> {
  await sql.unsafe(
    `CREATE TABLE ${quoted(table)} AS SELECT ${COLUMNS} FROM ${quoted(from)} ORDER BY sort_key, nif`,
  );
}

/**
 * Gives a filled table its unique index of NIFs, and its vocabulary. A reader of the table, such as a backup, delays neither statement. A primary key
 * would need `ALTER TABLE`, which waits for every reader.
 */
export async function finishTable(sql: Sql, table: string): Promise<void> {
  await sql.unsafe(`CREATE UNIQUE INDEX ${quoted(`${table}_pkey`)} ON ${quoted(table)} (nif)`);
  await sql.unsafe(`ANALYZE ${quoted(table)}`);
  for (const statement of vocabularyStatements(table)) await sql.unsafe(statement);
}

/** The statements that create the indexes of a table for searches and matches in Postgres. */
const indexStatements = (table: string) => [...searchIndexStatements(table), wordsIndexStatement(table)];

/**
 * Adds the indexes that searches in Postgres need; existing ones stay.
 * @param sql a dedicated connection, because this takes longer than a server's statements may
 */
export async function buildSearchIndexes(sql: Sql, table: string): Promise<void> {
  for (const statement of indexStatements(table)) {
    await sql.unsafe(statement.replace('CREATE INDEX ', 'CREATE INDEX IF NOT EXISTS '));
  }
  await sql.unsafe(`VACUUM (ANALYZE) ${quoted(table)}`);
}

export async function hasSearchIndexes(sql: Sql, table: string): Promise<boolean> {
  const [row] = await sql<{ indexes: number }[]>`
    SELECT count(*) AS indexes FROM pg_indexes
    WHERE schemaname = current_schema() AND tablename = ${table} AND indexname <> ${`${table}_pkey`}`;
  return row!.indexes >= indexStatements(table).length;
}
