import { codeOf } from '../errors.ts';
import type { Sql } from '../postgres/connect.ts';
import type { BatchOptions } from '../runtime/batcher.ts';
import { type Bound, withTimeout } from '../runtime/timeout.ts';
import type { SearchEntry } from '../search/document.ts';
import { SEARCH_TIMEOUT_MS } from '../search/search.ts';
import { type ListedName, type ListReader, openListReader, Swapped } from './list-reader.ts';
import type { FindMatches } from './matches.ts';
import type { WordsQuery } from './query.ts';
import { arrange, enough, firstOf, tierOf } from './tiers.ts';
import { walk } from './walk.ts';

/** The most repeats of a search while the directory is swapped. */
const MAX_ROUNDS = 4;
const UNDEFINED_TABLE = '42P01';

/**
 * Matches by the lists of names of the current generation's table (word-lists.ts). Every statement of a search is of the same
 * table, which never changes, and those that read lists also check that it is current. If the directory was swapped meanwhile,
 * the search begins again.
 */
export function createPostgresMatches(sql: Sql, batches: BatchOptions): FindMatches {
  let reader: Promise<ListReader> | null = null;
  const forget = (used: Promise<ListReader>) => {
    if (reader === used) reader = null;
  };
  const open = (bound: Bound) => {
    const opened = openListReader(sql, batches, bound);
    opened.catch(() => forget(opened));
    return opened;
  };

  async function find(query: WordsQuery, limit: number, bound: Bound): Promise<SearchEntry[]> {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      reader ??= open(bound);
      const used = reader;
      try {
        return await findIn(await bound(used), query, limit, bound);
      } catch (error) {
        // The table of a generation before the last is dropped.
        if (!(error instanceof Swapped) && codeOf(error) !== UNDEFINED_TABLE) throw error;
        forget(used);
      }
    }
    throw new Error('the directory has no lists of names by words, or kept being swapped');
  }

  return async (query, limit) => ({
    entries: await withTimeout((bound) => find(query, limit, bound), SEARCH_TIMEOUT_MS, 'Postgres'),
    index: null,
  });
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
  const beginning = await bound(reader.readPrefix(normalized));
  const whole =
    beginning.length >= limit ? [] : await first([...wordsBefore, `${last} `], isInTier(query, 1));
  return firstOf(beginning, whole, all, limit);
}

/** Whether a name is in this tier or one before. */
const isInTier =
  (query: WordsQuery, most: number) =>
  ({ normalizedName }: ListedName) =>
    (tierOf(normalizedName, query) ?? Number.POSITIVE_INFINITY) <= most;
