/**
 * The directory's current generation, for everything that reads it (src/companies/directory/generations.ts changes it).
 *
 * A statement names its generation's table, whose rows never change, and checks in its own snapshot that the generation is current.
 * So an import waits for no reader, and no answer is from a directory that was replaced before the statement began.
 */
import { beginAgain, ReplacedError } from '../../platform/postgres/begin-again.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import type { Bound } from '../../platform/runtime/timeout.ts';

/**
 * A generation is taken for current for this long after the beginning of the read that found it so. A command that changes the
 * directory ends this long after the change, so that every search which begins later sees the new one.
 */
export const CONFIRMED_MS = 250;

export interface CurrentGeneration {
  id: number;
  /** Its table's plain name. */
  table: string;
  /** Its complete index in Elasticsearch; `null` if there is none. */
  index: string | null;
  rows: number;
}

/** The query for the current generation, which is one row. */
export function selectCurrent(sql: Sql) {
  return sql<[CurrentGeneration]>`
    SELECT generation.id, table_name AS "table", index_name AS "index", rows
    FROM directory_generations AS generation JOIN directory ON generation.id = current`;
}

/**
 * The id that an index has in its `_meta`. A copy of a database has the same id in its tables, but is another directory: its
 * imports would remove the original's indices.
 */
export async function readDirectoryId(sql: Sql): Promise<string> {
  const [row] = await sql.unsafe<{ id: string }[]>(`
    SELECT concat_ws('.', id, database.oid, (SELECT system_identifier FROM pg_control_system())) AS id
    FROM directory, pg_database database WHERE datname = current_database()`);
  return row!.id;
}

/**
 * Makes reads of the current generation's table. The generation is learned at the first read, and again after one that failed.
 *
 * @param open makes the statements of a generation
 * @returns runs a read, and begins it again if its generation was replaced
 */
export function createCurrentReader<Statements>(
  sql: Sql,
  open: (generation: CurrentGeneration) => Statements,
): <T>(read: (statements: Statements) => Promise<T>, bound: Bound) => Promise<T> {
  let opened: Promise<Statements> | null = null;
  const learn = async (bound: Bound) => open((await bound(selectCurrent(sql)))[0]);
  return (read, bound) =>
    beginAgain(async () => {
      opened ??= learn(bound);
      const used = opened;
      try {
        return await read(await bound(used));
      } catch (error) {
        if (opened === used) opened = null;
        throw error;
      }
    });
}

/**
 * SQL that selects `columns` while the generation is current. It has a row of nulls if nothing is found, and no row if the
 * generation was replaced (see {@link foundRows}).
 *
 * @param found a table, or a query in brackets
 * @param condition of its rows
 * @param rest of the statement, e.g. its order
 */
export function selectWhileCurrent(
  { id }: Pick<CurrentGeneration, 'id'>,
  columns: string,
  { found, condition = 'true', rest = '' }: { found: string; condition?: string; rest?: string },
): string {
  return `SELECT ${columns} FROM (SELECT FROM directory WHERE current = ${id}) AS current
    LEFT JOIN ${found} AS found ON ${condition} ${rest}`;
}

/**
 * The rows that {@link selectWhileCurrent} has found.
 * @param key a column that is null in no row of the table
 * @throws ReplacedError when the generation is not current
 */
export function foundRows<Row>(rows: readonly Row[], key: keyof Row): Row[] {
  if (rows.length === 0) throw new ReplacedError('another generation of the directory is current');
  return rows.filter((row) => row[key] !== null);
}
