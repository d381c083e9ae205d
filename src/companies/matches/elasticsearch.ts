import type { Client } from '@elastic/elasticsearch';
import type { BatchOptions } from '../../platform/runtime/batcher.ts';
import { normalizeName } from '../name.ts';
import { SearchError, type SearchOutcome } from '../search/hits.ts';
import { prefixFilter, searchLines } from '../search/msearch.ts';
import { createRounds, type Send } from '../search/rounds.ts';
import type { FindMatches } from './matches.ts';
import type { WordsQuery } from './query.ts';
import { arrange, enough, firstOf } from './tiers.ts';

/** The words of a name; the mapping also indexes their beginnings. */
const WORDS = 'normalized_name.words';

/** The names that have every word, the last one as a word's beginning. */
export function matchFilter({ before, last }: Pick<WordsQuery, 'before' | 'last'>): object {
  return { bool: { filter: [...before.map(hasWord), { prefix: { [WORDS]: last } }] } };
}

const wholeFilter = ({ before, last }: WordsQuery) => ({ bool: { filter: [...before, last].map(hasWord) } });

/** The names that have a word. */
export const hasWord = (word: string) => ({ term: { [WORDS]: word } });

interface Asked {
  query: WordsQuery;
  limit: number;
}

/**
 * Matches in the index behind the alias. Queries of one turn of the event loop share an `_msearch`, and a second one for those
 * that have many matches. The second is of the index that the first's hits are from.
 *
 * No search is scored, and all end early, because the index has the order of results.
 */
export function createElasticsearchMatches(
  client: Client,
  alias: string,
  batches: BatchOptions,
): FindMatches {
  const ask = createRounds(client, batches, async (asked: Asked[], send) => {
    const searches = asked.map(({ query, limit }) => searchLines(alias, matchFilter(query), enough(limit)));
    return arrangeEach(asked, await send(searches), send);
  });
  return (query, limit) => ask({ query, limit });
}

/** @param all the outcome of each query's search for all matches */
async function arrangeEach(asked: Asked[], all: SearchOutcome[], send: Send): Promise<SearchOutcome[]> {
  const searches = asked.flatMap(({ query, limit }, position) => {
    const outcome = all[position]!;
    if (outcome instanceof SearchError || outcome.entries.length < enough(limit)) return [];
    return [
      searchLines(outcome.index!, prefixFilter(query.normalized), limit),
      searchLines(outcome.index!, wholeFilter(query), enough(limit)),
    ];
  });
  const tiers = searches.length === 0 ? [] : await send(searches);
  return asked.map(({ query, limit }, position) => {
    const outcome = all[position]!;
    if (outcome instanceof SearchError) return outcome;
    const { index, entries } = outcome;
    if (entries.length < enough(limit)) {
      const arranged = arrange(entries, query, ({ legalName }) => normalizeName(legalName));
      return { index, entries: arranged.slice(0, limit) };
    }
    const [beginning, whole] = tiers.splice(0, 2) as [SearchOutcome, SearchOutcome];
    if (beginning instanceof SearchError) return beginning;
    if (whole instanceof SearchError) return whole;
    return { index, entries: firstOf(beginning.entries, whole.entries, entries, limit) };
  });
}
