import type { Sql } from '../postgres/connect.ts';
import { quoted } from '../postgres/identifier.ts';
import { type BatchOptions, createBatcher } from '../runtime/batcher.ts';
import type { Bound } from '../runtime/timeout.ts';
import type { SearchEntry } from '../search/document.ts';
import { createPrefixSearch } from '../search/postgres.ts';
import type { ListRow, WantedRows } from './walk.ts';
import { NIF_BYTES, NIFS_PER_ROW, wordsTable } from './word-lists.ts';

/** A name that a list has. */
export interface ListedName extends SearchEntry {
  normalizedName: string;
}

/** SQL: the name of the current generation's table. */
export const CURRENT_TABLE =
  'SELECT table_name AS name FROM directory JOIN directory_generations ON directory_generations.id = current';

/** The directory was swapped, so the table is not the current one any more. */
export class Swapped extends Error {
  override readonly name = 'Swapped';
}

export type ListReader = ReturnType<typeof openListReader>;

/**
 * Reads the lists of a generation's table, and the names at their places. What is asked for in one turn of the event loop
 * shares a statement.
 * @throws Swapped when the table is not current (lists only), and Postgres's error when it does not exist
 */
export function openListReader(sql: Sql, table: string, batches: BatchOptions) {
  const [names, words] = [quoted(table), quoted(wordsTable(table))];

  // The current table's name comes with the rows, also when there are none.
  const rowsStatement = `
    SELECT current.name AS current, wanted.list, found.last, found.places
    FROM (${CURRENT_TABLE}) AS current
    LEFT JOIN (
      unnest($1::int[], $2::text[], $3::int[], $4::int[]) AS wanted (list, beginning, since, rows)
      CROSS JOIN LATERAL (
        SELECT last, places FROM ${words} AS words
        WHERE words.beginning = wanted.beginning AND last >= since ORDER BY last LIMIT rows
      ) AS found
    ) ON true`;
  async function readRowsOfAll(steps: WantedRows[][], bound: Bound): Promise<ListRow[][][]> {
    const lists = steps.flat();
    const of = lists.flatMap(({ keys }, list) => keys.map(() => list));
    const parameters = [
      of,
      lists.flatMap(({ keys }) => keys),
      of.map((list) => lists[list]!.since),
      of.map((list) => lists[list]!.rows),
    ];
    const rows = await bound(
      sql.unsafe<({ current: string; list: number | null } & ListRow)[]>(rowsStatement, parameters, {
        prepare: true,
      }),
    );
    if (rows[0]!.current !== table) throw new Swapped();
    const read: ListRow[][] = lists.map(() => []);
    for (const row of rows) if (row.list !== null) read[row.list]!.push(row);
    return steps.map((step) => read.splice(0, step.length));
  }

  const nif = `lpad(substr(words.places, ${NIF_BYTES} * (place % ${NIFS_PER_ROW}) + 1, ${NIF_BYTES})::int::text, 9, '0')`;
  const namesStatement = `
    SELECT place, names.nif, legal_name AS "legalName", normalized_name AS "normalizedName"
    FROM unnest($1::int[]) AS place
    JOIN ${words} AS words ON words.beginning = '' AND words.last = place | ${NIFS_PER_ROW - 1}
    JOIN ${names} AS names ON names.nif = ${nif}`;
  async function readNamesOfAll(items: number[][], bound: Bound): Promise<ListedName[][]> {
    const places = [...new Set(items.flat())];
    const rows = await bound(
      sql.unsafe<({ place: number } & ListedName)[]>(namesStatement, [places], {
        prepare: true,
      }),
    );
    const byPlace = new Map(rows.map((row) => [row.place, row]));
    return items.map((item) => item.map((place) => byPlace.get(place)!));
  }

  return {
    /** The first names that begin with a prefix, in their order. */
    readPrefix: createPrefixSearch(sql, table, { equalFirst: false }),
    readRows: createBatcher(readRowsOfAll, batches),
    readNames: createBatcher(readNamesOfAll, batches),
  };
}
