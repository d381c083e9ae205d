/**
 * Directory search by indexes in Postgres, where no Elasticsearch is configured.
 *
 * The order is by sort key, the condition is on the normalized name, and a one-letter prefix has tens of thousands
 * of matches: sorting them took 120 ms at 1 million names, an index of all beginnings would be 24 times the
 * directory. But a name's sort key nearly always begins like its normalized form, so the matches of a prefix are
 * in two parts:
 * - "straight": the sort key begins with the prefix as well. They are neighbours in the order of sort keys: the first
 *   20 are read off an index in that order.
 * - "crooked": it doesn't, because of punctuation before the prefix's end (`A. B. Costa` for "a b"). These are few.
 *   Partial indexes hold the names that are crooked within their first 1, 2, 4, 8, 16 and 32 characters; the smallest
 *   one that covers the prefix is read, and what matches is sorted.
 *
 * Indexes hold the first 64 characters only: a name can be longer than an index entry may be (2,704 bytes).
 */
import { within } from '../deadline.ts';
import type { Sql } from '../postgres/connect.ts';
import type { ParsedQuery } from './query.ts';
import { type DirectorySearch, MAX_RESULTS, SEARCH_TIMEOUT_MS, type SearchEntry } from './search.ts';

/** Characters of a name that an index holds: at most 4 bytes each. */
const INDEXED_LENGTH = 64;

/** Prefix lengths up to which there is a partial index of crooked names; longer prefixes use the full one. */
const CROOKED_WITHIN: readonly number[] = [1, 2, 4, 8, 16, 32];

interface Row {
  nif: string;
  legal_name: string;
}

/**
 * The indexes that a table with the columns of `directory_entries` needs for quick searches. Create them after the
 * rows are in (2 to 5 s for 1 million), and run `VACUUM ANALYZE` then: the planner needs the statistics of the
 * indexed expressions.
 *
 * @param table its plain name; the indexes are named after it
 */
export function searchIndexStatements(table: string): string[] {
  const name = (suffix: string) => quoteIdentifier(`${table}_${suffix}`);
  const on = `ON ${quoteIdentifier(table)}`;
  return [
    `CREATE INDEX ${name('by_name')} ${on} (left(normalized_name, ${INDEXED_LENGTH}))`,
    `CREATE INDEX ${name('by_sort_key')} ${on} (left(sort_key, ${INDEXED_LENGTH}))`,
    ...CROOKED_WITHIN.map(
      (length) =>
        `CREATE INDEX ${name(`crooked_${length}`)} ${on} (left(normalized_name, ${length}))` +
        ` WHERE ${crooked(length)}`,
    ),
  ];
}

/** Search in the view `directory_entries`, one statement and so one snapshot a search. */
export function createPostgresSearch(sql: Sql): DirectorySearch {
  const statements = new Map([...CROOKED_WITHIN, null].map((length) => [length, nameStatement(length)]));

  const query = (parsed: Exclude<ParsedQuery, { kind: 'nothing' }>) => {
    if (parsed.kind === 'nif') {
      return sql<Row[]>`SELECT nif, legal_name FROM directory_entries WHERE nif = ${parsed.nif}`;
    }
    const prefix = parsed.normalized;
    const codePoints = [...prefix];
    const head = codePoints.slice(0, INDEXED_LENGTH).join('');
    const length = CROOKED_WITHIN.find((within) => codePoints.length <= within) ?? null;
    return sql.unsafe<Row[]>(statements.get(length)!, [prefix, head, firstAfter(head)], { prepare: true });
  };

  return {
    async search(parsed) {
      if (parsed.kind === 'nothing') return [];
      const rows = await within(query(parsed), SEARCH_TIMEOUT_MS, 'Postgres');
      return rows.map((row): SearchEntry => ({ nif: row.nif, legalName: row.legal_name }));
    },
  };
}

/** The name is crooked for some prefix of at most `length` characters. */
function crooked(length: number): string {
  return `NOT starts_with(sort_key, left(normalized_name, ${length}))`;
}

/**
 * The three parts of a result. $1: prefix, $2: its indexed characters, $3: the first string after all that begin with
 * those.
 *
 * Ranges instead of LIKE: nothing to escape, and a prepared statement's plan can use an index for them, because
 * columns are `COLLATE "C"`, which compares UTF-8 as code points. COALESCE keeps the planner from guessing: it takes
 * the three conditions inside for independent and rare, and would sort all candidates instead of reading the first
 * 20 in order (100 times slower), where half of what it can't see through is a guess near enough. Each part can use
 * one index only.
 */
export function nameStatement(crookedWithin: number | null): string {
  const first = (column: string, length: number) => `left(${column}, ${length})`;
  const name = first('normalized_name', crookedWithin ?? INDEXED_LENGTH);
  const key = first('sort_key', INDEXED_LENGTH);
  return `
    SELECT nif, legal_name FROM (
      (SELECT 0 AS part, nif, legal_name, sort_key FROM directory_entries
        WHERE ${first('normalized_name', INDEXED_LENGTH)} = $2 AND normalized_name = $1
        ORDER BY sort_key, nif LIMIT ${MAX_RESULTS})
      UNION ALL
      (SELECT 1, nif, legal_name, sort_key FROM directory_entries
        WHERE ${key} >= $2 AND ${key} < $3
          AND COALESCE(starts_with(sort_key, $1) AND starts_with(normalized_name, $1) AND normalized_name <> $1, false)
        ORDER BY ${key}, sort_key, nif LIMIT ${MAX_RESULTS})
      UNION ALL
      (SELECT 1, nif, legal_name, sort_key FROM directory_entries
        WHERE ${name} >= $2 AND ${name} < $3 ${crookedWithin === null ? '' : `AND ${crooked(crookedWithin)}`}
          AND NOT starts_with(sort_key, $1) AND starts_with(normalized_name, $1) AND normalized_name <> $1
        ORDER BY sort_key, nif LIMIT ${MAX_RESULTS})
    ) AS matches
    ORDER BY part, sort_key, nif LIMIT ${MAX_RESULTS}`;
}

/** The first string, by code point, after all that begin with `prefix`, which ends in a letter or digit. */
function firstAfter(prefix: string): string {
  const last = prefix.codePointAt(prefix.length - 1)!;
  // In the second half of a pair `codePointAt` gives that half alone.
  const isPair = last >= 0xdc00 && last <= 0xdfff && prefix.length > 1;
  const start = isPair ? prefix.length - 2 : prefix.length - 1;
  const codePoint = prefix.codePointAt(start)!;
  // Surrogates are no characters of UTF-8. The very last code point is neither letter nor digit.
  return prefix.slice(0, start) + String.fromCodePoint(codePoint === 0xd7ff ? 0xe000 : codePoint + 1);
}

function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
