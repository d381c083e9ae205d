import type { Client } from '@elastic/elasticsearch';
import { normalizeName } from '../companies/name.ts';
import { BATCH_TIMEOUT_MS, type BatchOptions, createBatcher } from '../runtime/batcher.ts';
import { throwIfAway } from '../search/elasticsearch.ts';
import { SearchError, type SearchOutcome } from '../search/hits.ts';
import { prefixFilter, type SearchLines, searchLines, sendSearches } from '../search/msearch.ts';
import { NOTHING_FOUND, type SearchResult } from '../search/search.ts';
import type { FindMatches } from './matches.ts';
import type { WordsQuery } from './query.ts';
import { arrange, enough, firstOf } from './tiers.ts';

/** The most repeats of a batch while the alias moves. */
const MAX_ROUNDS = 4;

/** The words of a name; the mapping also indexes their beginnings. */
const WORDS = 'normalized_name.words';

/** The names that have every word, the last one as a word's beginning. */
export function matchFilter({ before, last }: Pick<WordsQuery, 'before' | 'last'>): object {
  return { bool: { filter: [...before.map(hasWord), { prefix: { [WORDS]: last } }] } };
}

const wholeFilter = ({ before, last }: WordsQuery) => ({ bool: { filter: [...before, last].map(hasWord) } });
const hasWord = (word: string) => ({ term: { [WORDS]: word } });

interface Asked {
  query: WordsQuery;
  limit: number;
}

/**
 * Matches in the index behind the alias. Queries of one turn of the event loop share an `_msearch`, and a second one for those
 * that have many matches.
 *
 * No search is scored, and all end early, because the index has the order of results. All searches are of the last known index,
 * and one more of each `_msearch` tells the alias's. If the alias has moved, all are repeated.
 */
export function createElasticsearchMatches(
  client: Client,
  alias: string,
  batches: BatchOptions,
): FindMatches {
  let index: string | null = null;
  const ask = createBatcher(findAll, batches);

  async function findAll(asked: Asked[]): Promise<SearchOutcome[]> {
    throwIfAway(client);
    const deadlineMs = performance.now() + BATCH_TIMEOUT_MS;
    const send = (searches: SearchLines[]) =>
      sendSearches(client, searches, Math.max(1, deadlineMs - performance.now()));
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      index ??= await currentIndex(alias, send);
      if (index === null) return asked.map(() => NOTHING_FOUND);
      const known = index;
      const [current, ...all] = await send([
        searchLines(alias, ANY, 1),
        ...asked.map(({ query, limit }) => searchLines(known, matchFilter(query), enough(limit))),
      ]);
      if (indexOf(current!) !== known) {
        index = null;
        continue;
      }
      // Elasticsearch fails in several ways while it removes the index, because the alias has moved.
      const hasMoved = async () => (await currentIndex(alias, send).catch(() => known)) !== known;
      try {
        const outcomes = await arrangeEach(known, asked, all, send);
        const isWhole = !outcomes.some((outcome) => outcome instanceof SearchError);
        if (isWhole || !(await hasMoved())) return outcomes;
      } catch (error) {
        if (!(await hasMoved())) throw error;
      }
      index = null;
    }
    throw new Error('the alias kept moving');
  }

  return async (query, limit) => {
    const outcome = await ask({ query, limit });
    if (outcome instanceof SearchError) throw outcome;
    return outcome;
  };
}

const ANY = { match_all: {} };

type Send = (searches: SearchLines[]) => Promise<SearchOutcome[]>;

/**
 * The index of the alias; `null` if it has no entries.
 * @throws when the index was built by a version that knew no matches. They would find nothing in it.
 */
async function currentIndex(alias: string, send: Send): Promise<string | null> {
  const hasWords = { exists: { field: WORDS } };
  const [any, withWords] = await send([searchLines(alias, ANY, 1), searchLines(alias, hasWords, 1)]);
  const index = indexOf(any!);
  if (index !== null && indexOf(withWords!) === null) {
    throw new Error('the search index was built by another version: run "index rebuild"');
  }
  return index;
}

/** The index that the hits are from. @throws the failure of the search */
function indexOf(outcome: SearchOutcome): string | null {
  if (outcome instanceof SearchError) throw outcome;
  return outcome.index;
}

/** @param all the outcome of each query's search for all matches */
async function arrangeEach(
  index: string,
  asked: Asked[],
  all: SearchOutcome[],
  send: Send,
): Promise<SearchOutcome[]> {
  const isMany = ({ limit }: Asked, position: number) => {
    const outcome = all[position]!;
    return !(outcome instanceof SearchError) && outcome.entries.length === enough(limit);
  };
  const many = asked.filter(isMany);
  const searches = many.flatMap(({ query, limit }) => [
    searchLines(index, prefixFilter(query.normalized), limit),
    searchLines(index, wholeFilter(query), enough(limit)),
  ]);
  const tiers = searches.length === 0 ? [] : await send(searches);
  return asked.map((one, position): SearchOutcome => {
    const outcome = all[position]!;
    if (outcome instanceof SearchError) return outcome;
    if (!isMany(one, position)) {
      return {
        index,
        entries: arrange(outcome.entries, one.query, ({ legalName }) => normalizeName(legalName)).slice(
          0,
          one.limit,
        ),
      };
    }
    const at = 2 * many.indexOf(one);
    const failure = [tiers[at], tiers[at + 1]].find((tier) => tier instanceof SearchError);
    if (failure !== undefined) return failure as SearchError;
    const [beginning, whole] = [tiers[at] as SearchResult, tiers[at + 1] as SearchResult];
    return { index, entries: firstOf(beginning.entries, whole.entries, outcome.entries, one.limit) };
  });
}
