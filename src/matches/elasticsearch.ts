import type { Client } from '@elastic/elasticsearch';
import { normalizeName } from '../companies/name.ts';
import type { BatchOptions } from '../runtime/batcher.ts';
import { SearchError, type SearchOutcome } from '../search/hits.ts';
import { prefixFilter, searchLines } from '../search/msearch.ts';
import { createRounds, type RoundOutcome, type Send } from '../search/rounds.ts';
import type { SearchResult } from '../search/search.ts';
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
const hasWord = (word: string) => ({ term: { [WORDS]: word } });

interface Asked {
  query: WordsQuery;
  limit: number;
}

/**
 * Matches in the index behind the alias. Queries of one turn of the event loop share an `_msearch`, and a second one for those
 * that have many matches. The second is of the index that the first's hits are from.
 *
 * No search is scored, and all end early, because the index has the order of results.
 *
 * @param sharing so many queries share a search. If they have too many matches together, each gets a search in the next round
 */
export function createElasticsearchMatches(
  client: Client,
  alias: string,
  batches: BatchOptions,
  sharing = 1,
): FindMatches {
  const ask = createRounds(client, batches, async (asked: Asked[], send, round) => {
    const groups: Asked[][] = [];
    const size = round === 0 ? sharing : 1;
    for (let at = 0; at < asked.length; at += size) groups.push(asked.slice(at, at + size));
    const filter = (group: Asked[]) => ({ bool: { should: group.map(({ query }) => matchFilter(query)) } });
    const all = await send(groups.map((group) => searchLines(alias, filter(group), hitsOf(group))));
    return arrangeEach(groups, all, send);
  });
  return (query, limit) => ask({ query, limit });
}

/** With fewer hits a search has all matches of these queries. */
const hitsOf = (group: Asked[]) => group.reduce((sum, { limit }) => sum + enough(limit), 0);

/** @param all the outcome of each group's search for all matches */
async function arrangeEach(groups: Asked[][], all: SearchOutcome[], send: Send): Promise<RoundOutcome[]> {
  const isMany = (group: Asked[], outcome: SearchOutcome): outcome is SearchResult =>
    !(outcome instanceof SearchError) && outcome.entries.length === hitsOf(group);
  const searches = groups.flatMap((group, position) => {
    const outcome = all[position]!;
    if (group.length > 1 || !isMany(group, outcome)) return [];
    const { query, limit } = group[0]!;
    return [
      searchLines(outcome.index!, prefixFilter(query.normalized), limit),
      searchLines(outcome.index!, wholeFilter(query), enough(limit)),
    ];
  });
  const tiers = searches.length === 0 ? [] : await send(searches);
  return groups.flatMap((group, position): RoundOutcome[] => {
    const outcome = all[position]!;
    if (outcome instanceof SearchError) return group.map(() => outcome);
    const { index, entries } = outcome;
    if (!isMany(group, outcome)) {
      const named = entries.map((entry) => ({ entry, name: normalizeName(entry.legalName) }));
      return group.map(({ query, limit }) => {
        const arranged = arrange(named, query, ({ name }) => name).slice(0, limit);
        return { index, entries: arranged.map(({ entry }) => entry) };
      });
    }
    if (group.length > 1) return group.map(() => 'again');
    const [beginning, whole] = tiers.splice(0, 2) as [SearchOutcome, SearchOutcome];
    if (beginning instanceof SearchError) return [beginning];
    if (whole instanceof SearchError) return [whole];
    const { limit } = group[0]!;
    return [{ index, entries: firstOf(beginning.entries, whole.entries, entries, limit) }];
  });
}
