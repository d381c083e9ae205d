import type { Sql } from '../../platform/postgres/connect.ts';
import { quoted } from '../../platform/postgres/identifier.ts';
import { type BatchOptions, createBatcher, QUEUE_TIMEOUT_MS } from '../../platform/runtime/batcher.ts';
import type { Bound } from '../../platform/runtime/timeout.ts';
import type { SearchEntry } from '../search/document.ts';
import {
  type CurrentGeneration,
  createCurrentReader,
  foundRows,
  selectWhileCurrent,
} from '../search/generation.ts';
import { createPrefixSearch, INDEXED_LENGTH } from '../search/postgres.ts';
import type { FindMatches } from './matches.ts';
import type { WordsQuery } from './query.ts';
import { arrange, enough, firstOf } from './tiers.ts';
import { selectByWords, wordsCondition } from './words-index.ts';

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

interface MatchRow extends SearchEntry {
  normalizedName: string;
  /** Only of names that are looked through. */
  isMatch?: boolean;
  /** Whether more names may be left to look through. */
  isLast?: boolean;
}

/** How a query is asked. */
interface Asking {
  sql: Sql;
  generation: CurrentGeneration;
  bound: Bound;
  limits: ReadLimits;
}

/**
 * Matches by the current generation's table. The first statement of a query checks that the generation is current, and all of
 * them read its table, which never changes.
 *
 * @param sql a pool with the settings of `pointQueries`, so that a table is only scanned in its physical order
 * @param batches a lane: it has as many queries in flight as batches, because each takes a core of Postgres. A query may queue
 *   longer than in a batch, behind the others of its request.
 */
export function createPostgresMatches(sql: Sql, batches: BatchOptions, limits = LIMITS): FindMatches {
  const read = createCurrentReader(sql, (generation) => generation);
  const ask = createBatcher(
    async ([asked]: { query: WordsQuery; limit: number }[], bound) => {
      const { query, limit } = asked!;
      return [await read((generation) => findIn({ sql, generation, bound, limits }, query, limit), bound)];
    },
    { ...batches, maxBatch: 1, queueTimeoutMs: 3 * QUEUE_TIMEOUT_MS },
  );
  return async (query, limit) => ({ entries: await ask({ query, limit }), index: null });
}

async function findIn(asking: Asking, query: WordsQuery, limit: number): Promise<SearchEntry[]> {
  const { before, last, normalized } = query;
  const all = await findFirst(asking, before, last, enough(limit));
  if (all.length < enough(limit)) {
    return arrange(all, query, ({ normalizedName }) => normalizedName).slice(0, limit);
  }
  const { sql, generation, bound } = asking;
  const beginning = await createPrefixSearch(sql, generation, { equalFirst: false })(normalized, bound);
  const whole =
    beginning.length >= limit ? [] : await findFirst(asking, [...before, last], null, enough(limit));
  return firstOf(beginning, whole, all, limit);
}

/**
 * The first names that have these words and a word with this beginning, in the order of results. A few names are walked first,
 * which is enough for frequent words. Otherwise the index is asked, which is quick for words that seldom meet. It would collect
 * all names with a short beginning, so a few names with the other words are looked through before.
 * @param beginning `null` if there is none
 */
async function findFirst(
  { sql, generation, bound, limits }: Asking,
  words: readonly string[],
  beginning: string | null,
  limit: number,
): Promise<MatchRow[]> {
  const groups = words.map((word) => [[word]]);
  const patterns = words.map((word) => `% ${word} %`);
  if (beginning !== null) patterns.push(`% ${beginning}%`);
  const ask = (statement: string, ...condition: string[]) =>
    bound(sql.unsafe<MatchRow[]>(statement, [patterns, ...condition], { prepare: true }));

  const walked = foundRows(await ask(walkStatement(generation, limits.walked, limit)), 'nif');
  if (walked.length >= limit) return walked;
  if (beginning !== null && beginning.length <= SHORT && words.length > 0) {
    const statement = lookThroughStatement(generation, limits.lookedThrough, limit);
    const some = await ask(statement, wordsCondition(groups, null));
    const found = some.filter(({ isMatch }) => isMatch);
    if (found.length >= limit || some.every(({ isLast }) => !isLast)) return found;
  }
  const statement = selectByWords(generation, NAME, { condition: '$2', limit, check: IS_MATCH });
  return ask(statement, wordsCondition(groups, beginning));
}

const NAME = 'nif, legal_name AS "legalName", normalized_name AS "normalizedName"';
/** SQL for: a name has all words, by their patterns $1. */
const IS_MATCH = `(' ' || normalized_name || ' ' LIKE ALL ($1::text[]))`;

/** The matches among the first names of all. */
function walkStatement(generation: CurrentGeneration, walked: number, limit: number): string {
  const order = 'head, sort_key, nif';
  const found = `(
    SELECT nif, legal_name, normalized_name FROM (
      SELECT nif, legal_name, normalized_name, sort_key, left(sort_key, ${INDEXED_LENGTH}) AS head
      FROM ${quoted(generation.table)} ORDER BY ${order} LIMIT ${walked}
    ) AS names
    WHERE ${IS_MATCH} ORDER BY ${order} LIMIT ${limit})`;
  return selectWhileCurrent(generation, NAME, { found });
}

/** The first matches among the first rows that the index has for $2, and the last of these rows. */
function lookThroughStatement(generation: CurrentGeneration, lookedThrough: number, limit: number): string {
  const columns = `${NAME}, ${IS_MATCH} AS "isMatch", row_number() OVER () = ${lookedThrough} AS "isLast"`;
  const names = selectByWords(generation, columns, { condition: '$2', limit: lookedThrough });
  return `SELECT * FROM ${names} AS names WHERE "isMatch" OR "isLast" LIMIT ${limit}`;
}
