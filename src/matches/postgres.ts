import type { Sql } from '../postgres/connect.ts';
import type { BatchOptions } from '../runtime/batcher.ts';
import { type Bound, withTimeout } from '../runtime/timeout.ts';
import type { SearchEntry } from '../search/document.ts';
import { createCurrentReader } from '../search/generation.ts';
import { SEARCH_TIMEOUT_MS } from '../search/search.ts';
import { type ListedName, type ListReader, openListReader } from './list-reader.ts';
import type { FindMatches } from './matches.ts';
import type { WordsQuery } from './query.ts';
import { arrange, enough, firstOf, tierOf } from './tiers.ts';
import { walk } from './walk.ts';

/**
 * Matches by the lists of names of the current generation's table (word-lists.ts). Every statement of a search is of the same
 * table, which never changes, and those that read lists also check that it is current. If the directory was replaced meanwhile,
 * the search begins again.
 */
export function createPostgresMatches(sql: Sql, batches: BatchOptions): FindMatches {
  const read = createCurrentReader(sql, (generation, bound) =>
    openListReader(sql, generation, batches, bound),
  );
  return async (query, limit) => {
    const find = (bound: Bound) => read((reader) => findIn(reader, query, limit, bound), bound);
    return { entries: await withTimeout(find, SEARCH_TIMEOUT_MS, 'Postgres'), index: null };
  };
}

async function findIn(
  reader: ListReader,
  query: WordsQuery,
  limit: number,
  bound: Bound,
): Promise<SearchEntry[]> {
  const { before, last, normalized } = query;
  const first = (beginnings: string[], accept: (name: ListedName) => boolean) =>
    walk(beginnings.map(reader.keyOf), { ...reader, limit: enough(limit), accept });
  const wordsBefore = before.map((word) => `${word} `);

  const all = await first([...wordsBefore, last], isInTier(query, 2));
  if (all.length < enough(limit)) {
    return arrange(all, query, ({ normalizedName }) => normalizedName).slice(0, limit);
  }
  const beginning = await reader.readPrefix(normalized, bound);
  const whole =
    beginning.length >= limit ? [] : await first([...wordsBefore, `${last} `], isInTier(query, 1));
  return firstOf(beginning, whole, all, limit);
}

/** Whether a name is in this tier or one before. */
const isInTier =
  (query: WordsQuery, most: number) =>
  ({ normalizedName }: ListedName) =>
    (tierOf(normalizedName, query) ?? Number.POSITIVE_INFINITY) <= most;
