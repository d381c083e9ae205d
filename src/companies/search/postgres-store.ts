/**
 * Directory search by indexes in Postgres, if no Elasticsearch is configured.
 *
 * The order is by sort key, but the condition is on the normalized name, and a one-letter prefix has tens of thousands of
 * matches. Sorting them took 120 ms at 1 million names, and an index of all prefixes would be 24 times the directory. But a
 * name's sort key nearly always begins like its normalized form, so the matches of a prefix have two parts:
 * - "aligned": the sort key also begins with the prefix. These are neighbours in the order of sort keys, so the first 20 are
 *   read from an index in that order.
 * - "misaligned": it doesn't, because of punctuation before the prefix's end (`A. B. Costa` for "a b"). These are few. Partial
 *   indexes hold the names that are misaligned within their first 1, 2, 4, 8, 16, 24 and 40 characters. The smallest index
 *   that covers the prefix is read, and its matches are sorted.
 *
 * Indexes hold the first 64 characters only, because an index entry is limited to 2,704 bytes.
 */

import { answerOf } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { quoted } from '../../platform/postgres/identifier.ts';
import type { DirectoryEntry, SearchEntry } from './document.ts';
import type { OpenGeneration } from './generation-reader.ts';
import { MAX_RESULTS } from './search.ts';
import { selectByWords, wordsParameters } from './words-index.ts';

/** Characters of a name in an index, each of at most 4 bytes. */
export const INDEXED_LENGTH = 64;

/** Prefix lengths up to which there is a partial index of misaligned names; longer prefixes use the full one. */
const MISALIGNED_WITHIN: readonly number[] = [1, 2, 4, 8, 16, 24, 40];

/**
 * The indexes for fast searches in a generation's table. Create them after loading the rows (2 to 5 s
 * for 1 million), the index of the order first. Then run `VACUUM ANALYZE`, because the planner needs the statistics of the indexed expressions.
 *
 * @param table its plain name, which begins the names of the indexes
 */
export function searchIndexStatements(table: string): string[] {
  const name = (suffix: string) => quoted(`${table}_${suffix}`);
  const on = `ON ${quoted(table)}`;
  return [
    `CREATE INDEX ${name('by_sort_key')} ${on} (left(sort_key, ${INDEXED_LENGTH}))`,
    `CREATE INDEX ${name('by_name')} ${on} (left(normalized_name, ${INDEXED_LENGTH}))`,
    ...MISALIGNED_WITHIN.map(
      (length) =>
        `CREATE INDEX ${name(`misaligned_${length}`)} ${on} (left(normalized_name, ${length}))` +
        ` WHERE ${misaligned(length)}`,
    ),
  ];
}

const ENTRY = 'nif, legal_name AS "legalName"';
/** The columns of a {@link DirectoryEntry}. */
export const DIRECTORY_ENTRY = `${ENTRY}, normalized_name AS normalized, sort_key AS "sortKey"`;

/**
 * The tables of generations, which have the indexes of {@link searchIndexStatements} and words-index.ts.
 * @param sql a pool; for words with the settings of `pointQueries`, so that a table is only scanned in its physical order
 */
export function createPostgresStore(sql: Sql): OpenGeneration {
  return ({ table }) => {
    const ask = async <Row extends SearchEntry>(statement: string, parameters: (string | string[])[]) =>
      answerOf(sql.unsafe<Row[]>(statement, parameters, { prepare: true }));
    return {
      byNif: (nif) => ask(`SELECT ${ENTRY} FROM ${quoted(table)} WHERE nif = $1`, [nif]),
      byPrefix(prefix, equalFirst) {
        const codePoints = [...prefix];
        const head = codePoints.slice(0, INDEXED_LENGTH).join('');
        const length = MISALIGNED_WITHIN.find((within) => codePoints.length <= within) ?? null;
        return ask(nameStatement(length, table, equalFirst), [prefix, head, firstAfter(head)]);
      },
      byWords: (groups, beginning, limit) =>
        ask<DirectoryEntry>(selectByWords(table, DIRECTORY_ENTRY, limit), wordsParameters(groups, beginning)),
    };
  };
}

/** SQL for: the name is misaligned for some prefix of at most `length` characters. */
function misaligned(length: number): string {
  return `NOT starts_with(sort_key, left(normalized_name, ${length}))`;
}

/**
 * The three parts of a result. $1 is the prefix, $2 its indexed characters, $3 the first string after all with those.
 *
 * Ranges need no escaping, unlike LIKE, and use an index in a prepared statement, because columns are `COLLATE "C"`, which
 * compares UTF-8 as code points.
 *
 * Each part can use one index only. The plan must not depend on the planner's estimates, which are wrong by 100 times for names:
 * it expected 8 matches of "const" instead of 4,976, and sorted all of them in 71 ms instead of 0.2. `(SELECT $1)` hides the
 * value from it, COALESCE a combination of conditions that it considers rare.
 */
function nameStatement(misalignedWithin: number | null, plainTable: string, equalFirst: boolean): string {
  const table = quoted(plainTable);
  const first = (column: string, length: number) => `left(${column}, ${length})`;
  const name = first('normalized_name', misalignedWithin ?? INDEXED_LENGTH);
  const key = first('sort_key', INDEXED_LENGTH);
  const prefix = '(SELECT $1::text)';
  const head = '(SELECT $2::text)';
  const headEnd = '(SELECT $3::text)';
  return `SELECT ${ENTRY} FROM (
      (SELECT ${equalFirst ? 0 : 1} AS part, nif, legal_name, sort_key FROM ${table}
        WHERE ${first('normalized_name', INDEXED_LENGTH)} = ${head} AND normalized_name = ${prefix}
        ORDER BY sort_key, nif LIMIT ${MAX_RESULTS})
      UNION ALL
      (SELECT 1, nif, legal_name, sort_key FROM ${table}
        WHERE ${key} >= ${head} AND ${key} < ${headEnd}
          AND COALESCE(starts_with(sort_key, ${prefix}) AND starts_with(normalized_name, ${prefix})
            AND normalized_name <> ${prefix}, false)
        ORDER BY ${key}, sort_key, nif LIMIT ${MAX_RESULTS})
      UNION ALL
      (SELECT 1, nif, legal_name, sort_key FROM ${table}
        WHERE ${name} >= ${head} AND ${name} < ${headEnd}
          ${misalignedWithin === null ? '' : `AND ${misaligned(misalignedWithin)}`}
          AND NOT starts_with(sort_key, ${prefix}) AND starts_with(normalized_name, ${prefix})
          AND normalized_name <> ${prefix}
        ORDER BY sort_key, nif LIMIT ${MAX_RESULTS})
    ) AS found ORDER BY part, sort_key, nif LIMIT ${MAX_RESULTS}`;
}

/** The first string, by code point, after all strings with the prefix, which ends in a letter or digit. */
function firstAfter(prefix: string): string {
  const last = prefix.codePointAt(prefix.length - 1)!;
  // At the second half of a pair `codePointAt` returns that half alone.
  const isPair = last >= 0xdc00 && last <= 0xdfff && prefix.length > 1;
  const start = isPair ? prefix.length - 2 : prefix.length - 1;
  const codePoint = prefix.codePointAt(start)!;
  // UTF-8 has no surrogates. The very last code point is neither letter nor digit.
  return prefix.slice(0, start) + String.fromCodePoint(codePoint === 0xd7ff ? 0xe000 : codePoint + 1);
}
