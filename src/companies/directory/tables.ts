/** Fills the tables of generations by set-based SQL. */

import type { Sql } from '../../platform/postgres/connect.ts';
import { copyInto, copyValue } from '../../platform/postgres/copy.ts';
import { quoted } from '../../platform/postgres/identifier.ts';
import { STAGING } from '../ingest/staging.ts';
import { vocabularyStatements } from '../resolve/vocabulary-table.ts';
import { directoryEntry } from '../search/document.ts';
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
  { table, rows: present }: Pick<Generation, 'table' | 'rows'>,
  replace: boolean,
): Promise<Difference> {
  const [row] = await sql.unsafe<{ usable: number; known: number; unchanged: number }[]>(`
    SELECT count(*) AS usable, count(present.nif) AS known,
      count(*) FILTER (WHERE present.legal_name = staged.legal_name) AS unchanged
    FROM ${STAGING} staged LEFT JOIN ${quoted(table)} present USING (nif)`);
  const { usable, known, unchanged } = row!;
  return {
    imported: usable - unchanged,
    unchanged,
    removed: replace ? present - known : 0,
    rows: replace ? usable : present + usable - known,
  };
}

/** SQL: the rows of a table. */
export const allOf = (table: string): string => `SELECT ${COLUMNS} FROM ${quoted(table)}`;

/** SQL: the staged rows, and the other rows of `base`. @param base `null` if the staged rows are the whole directory */
export const withStaged = (base: string | null): string =>
  base === null
    ? allOf(STAGING)
    : `${allOf(base)} present
        WHERE NOT EXISTS (SELECT FROM ${STAGING} staged WHERE staged.nif = present.nif)
      UNION ALL ${allOf(STAGING)}`;

/**
 * Makes a generation's table of rows, in the order of results. Matches in Postgres rely on it (src/companies/matches/matches-postgres.ts), and
 * both stores index sorted rows faster. `finishTable` completes the table.
 */
export async function fillTable(sql: Sql, table: string, rows: string): Promise<void> {
  await sql.unsafe(`CREATE TABLE ${quoted(table)} AS ${rows} ORDER BY sort_key, nif`);
}

/** Computes the normalized columns of a generation by this version. @returns a temporary table with its rows, in any order */
export async function renormalize(
  sql: Sql,
  { table, rows }: Pick<Generation, 'table' | 'rows'>,
  { signal, progress }: LoadOptions,
): Promise<string> {
  const renormalized = 'renormalized';
  progress.phase('normalizing names');
  await sql.unsafe(`CREATE TEMPORARY TABLE ${renormalized} (LIKE ${quoted(table)})`);
  let done = 0;
  for await (const page of readPages(sql, table, signal)) {
    const copy = await copyInto(sql, `${renormalized} (${COLUMNS})`);
    for (const { nif, legalName } of page) {
      const { normalized, sortKey } = directoryEntry(nif, legalName);
      await copy.write(`${[nif, legalName, normalized, sortKey].map(copyValue).join('\t')}\n`);
    }
    await copy.finish();
    done += page.length;
    progress.update(done, done / rows);
  }
  return renormalized;
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
