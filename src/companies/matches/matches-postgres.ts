import { answerOf } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { quoted } from '../../platform/postgres/identifier.ts';
import type { DirectoryEntry } from '../search/document.ts';
import type { OpenGeneration } from '../search/generation-reader.ts';
import { createPostgresStore, DIRECTORY_ENTRY, INDEXED_LENGTH } from '../search/postgres-store.ts';
import { HAS_PATTERNS, patternsOf, selectByWords, wordsCondition } from '../search/words-index.ts';

/** How many names are read before the index is asked for all that match. */
export interface ReadLimits {
  /** Of all names. If 8% of them match, 40 are among five hundred. */
  walked: number;
  /** Of the names with all words but a short last one. */
  lookedThrough: number;
}
const LIMITS: ReadLimits = { walked: 500, lookedThrough: 1_000 };
/** Beginnings of so few characters are frequent. */
const SHORT = 2;

/** A name that is looked through. */
interface SeenEntry extends DirectoryEntry {
  isMatch: boolean;
  /** Whether more names may be left to look through. */
  isLast: boolean;
}

/**
 * The store of Postgres for frequent words, of one key a group: a few names are walked before the index is asked, which is quick for
 * words that seldom meet. It would collect all names with a short beginning, so a few names with the other words are looked through.
 *
 * @param sql a pool with the settings of `pointQueries`, so that a table is only scanned in its physical order
 */
export function createWalkingStore(sql: Sql, { walked, lookedThrough }: ReadLimits = LIMITS): OpenGeneration {
  const open = createPostgresStore(sql);
  return (generation) => {
    const { table } = generation;
    const reader = open(generation);
    return {
      ...reader,
      async byWords(groups, beginning, limit) {
        const patterns = patternsOf(groups, beginning);
        const ask = <Row extends DirectoryEntry>(statement: string, ...condition: string[]) =>
          answerOf(sql.unsafe<Row[]>(statement, [patterns, ...condition], { prepare: true }));
        const found = await ask(walkStatement(table, walked, limit));
        if (found.length >= limit) return found;
        if (beginning !== null && beginning.length <= SHORT && groups.length > 0) {
          const statement = lookThroughStatement(table, lookedThrough, limit);
          const some = await ask<SeenEntry>(statement, wordsCondition(groups, null));
          const matches = some.filter(({ isMatch }) => isMatch);
          if (matches.length >= limit || some.every(({ isLast }) => !isLast)) return matches;
        }
        return reader.byWords(groups, beginning, limit);
      },
    };
  };
}

/** The matches among the first names of all. */
function walkStatement(table: string, walked: number, limit: number): string {
  const order = 'head, sort_key, nif';
  return `SELECT ${DIRECTORY_ENTRY} FROM (
      SELECT nif, legal_name, normalized_name, sort_key, left(sort_key, ${INDEXED_LENGTH}) AS head
      FROM ${quoted(table)} ORDER BY ${order} LIMIT ${walked}
    ) AS names
    WHERE ${HAS_PATTERNS} ORDER BY ${order} LIMIT ${limit}`;
}

/** The first matches among the first rows that the index has for $2, and the last of these rows. */
function lookThroughStatement(table: string, lookedThrough: number, limit: number): string {
  const columns = `${DIRECTORY_ENTRY}, ${HAS_PATTERNS} AS "isMatch", row_number() OVER () = ${lookedThrough} AS "isLast"`;
  return `SELECT * FROM (${selectByWords(table, columns, lookedThrough, 'true')}) AS names
    WHERE "isMatch" OR "isLast" LIMIT ${limit}`;
}
