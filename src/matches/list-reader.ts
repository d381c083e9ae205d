import { ReplacedError } from '../postgres/begin-again.ts';
import type { Sql } from '../postgres/connect.ts';
import { quoted } from '../postgres/identifier.ts';
import { type BatchOptions, createBatcher } from '../runtime/batcher.ts';
import type { Bound } from '../runtime/timeout.ts';
import type { SearchEntry } from '../search/document.ts';
import type { CurrentGeneration } from '../search/generation.ts';
import { createPrefixSearch } from '../search/postgres.ts';
import type { ListRow, WantedRows } from './walk.ts';
import { hasRoom, keyOf, NIF_BYTES, NIFS_PER_ROW, readPlaces, UNDIVIDED, wordsTable } from './word-lists.ts';

/** A name that a list has. */
export interface ListedName extends SearchEntry {
  normalizedName: string;
}

export type ListReader = Awaited<ReturnType<typeof openListReader>>;

/**
 * Reads the lists of a generation's table, and the names at their places. What is asked for in one turn of the event
 * loop shares a statement.
 * @throws ReplacedError when the generation is not current (lists and prefixes only), and Postgres's error when the table does not exist
 */
export async function openListReader(
  sql: Sql,
  generation: CurrentGeneration,
  batches: BatchOptions,
  bound: Bound,
) {
  const { table } = generation;
  const [names, words] = [quoted(table), quoted(wordsTable(table))];
  const [row] = await bound(
    sql.unsafe<{ places: Buffer }[]>(`SELECT places FROM ${words} WHERE beginning = $1`, [UNDIVIDED]),
  );
  const divided = new Set(row!.places.toString().split(' '));

  // Without rows of lists there is one of nulls, unless the generation was replaced.
  const rowsStatement = `
    SELECT wanted.list, found.last, found.places
    FROM (SELECT FROM directory WHERE current = ${generation.id}) AS current
    LEFT JOIN (
      unnest($1::int[], $2::text[], $3::int[], $4::int[]) AS wanted (list, key, since, rows)
      CROSS JOIN LATERAL (
        SELECT last, places FROM ${words} AS words
        WHERE beginning = key AND last >= since ORDER BY last LIMIT rows
      ) AS found
    ) ON true`;
  async function readRowsOfAll(steps: WantedRows[][], bound: Bound): Promise<ListRow[][][]> {
    // Queries share words, and so the first rows of these lists.
    const byId = new Map(steps.flat().map((list) => [idOf(list), { ...list, read: [] as ListRow[] }]));
    const lists = [...byId.values()];
    const parameters = [
      [...lists.keys()],
      lists.map(({ key }) => key),
      lists.map(({ since }) => since),
      lists.map(({ rows }) => rows),
    ];
    const rows = await bound(
      sql.unsafe<{ list: number | null; last: number; places: Uint8Array }[]>(rowsStatement, parameters, {
        prepare: true,
      }),
    );
    if (rows.length === 0) throw new ReplacedError('another generation of the directory is current');
    for (const { list, last, places } of rows) {
      if (list === null) break; // nothing was found
      const { key, read } = lists[list]!;
      read.push({ last, places: readPlaces(places), isEnd: hasRoom(key, places) });
    }
    return steps.map((step) => step.map((list) => byId.get(idOf(list))!.read));
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
    /** The key of the list of the names with a word that begins so; at its end a blank means a whole word. */
    keyOf: (beginning: string) => keyOf(beginning, divided),
    /** The first names that begin with a prefix, in their order. */
    readPrefix: createPrefixSearch(sql, generation, { equalFirst: false }),
    readRows: createBatcher(readRowsOfAll, batches),
    readNames: createBatcher(readNamesOfAll, batches),
  };
}

const idOf = ({ key, since, rows }: WantedRows) => `${since} ${rows} ${key}`;
