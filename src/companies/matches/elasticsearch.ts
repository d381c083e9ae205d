import type { Client } from '@elastic/elasticsearch';
import type { BatchOptions } from '../../platform/runtime/batcher.ts';
import { normalizeName } from '../name.ts';
import type { CurrentIndex } from '../search/current-index.ts';
import type { SearchEntry } from '../search/document.ts';
import { SearchError } from '../search/hits.ts';
import { createIndexBatches } from '../search/index-batches.ts';
import { prefixFilter, searchLines, wordsFilter } from '../search/msearch.ts';
import type { FindMatches } from './matches.ts';
import type { WordsQuery } from './query.ts';
import { arrange, enough, firstOf } from './tiers.ts';

interface Asked {
  query: WordsQuery;
  limit: number;
}

/** The names that have every word, the last one as a word's beginning. */
export const matchFilter = ({ before, last }: Pick<WordsQuery, 'before' | 'last'>) =>
  wordsFilter(each(before), last);

/** Groups of one word each. */
const each = (words: readonly string[]) => words.map((word) => [[word]]);

/**
 * Matches in the current index. Queries of one turn of the event loop share an `_msearch`, and a second one for those that have many
 * matches. No search is scored, and all end early, because the index has the order of results.
 */
export function createElasticsearchMatches(
  client: Client,
  current: CurrentIndex,
  batches: BatchOptions,
): FindMatches {
  const ask = createIndexBatches(client, current, batches, async (asked: Asked[], index, send) => {
    const all = await send(
      asked.map(({ query, limit }) => searchLines(index, matchFilter(query), enough(limit))),
    );
    const isMany = (at: number) => (all[at] as SearchEntry[]).length >= enough(asked[at]!.limit);
    const searches = asked.flatMap(({ query, limit }, at) =>
      all[at] instanceof SearchError || !isMany(at)
        ? []
        : [
            searchLines(index, prefixFilter(query.normalized), limit),
            searchLines(index, wordsFilter(each([...query.before, query.last]), null), enough(limit)),
          ],
    );
    const tiers = searches.length === 0 ? [] : await send(searches);
    return asked.map(({ query, limit }, at) => {
      const entries = all[at]!;
      if (entries instanceof SearchError) return entries;
      if (!isMany(at))
        return arrange(entries, query, ({ legalName }) => normalizeName(legalName)).slice(0, limit);
      const [beginning, whole] = tiers.splice(0, 2);
      if (beginning instanceof SearchError) return beginning;
      if (whole instanceof SearchError) return whole;
      return firstOf(beginning!, whole!, entries, limit);
    });
  });
  return (query, limit) => ask({ query, limit });
}
