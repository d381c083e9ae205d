import type { Client } from '@elastic/elasticsearch';
import { QUEUE_TIMEOUT_MS } from '../../platform/runtime/batcher.ts';
import { normalizeName } from '../name.ts';
import type { SearchEntry } from './document.ts';
import { SearchError, type SearchOutcome } from './hits.ts';
import { prefixFilter, type SearchLines, searchLines } from './msearch.ts';
import type { ParsedQuery } from './query.ts';
import { createRounds, type RoundOutcome } from './rounds.ts';
import { type DirectorySearch, MAX_RESULTS, NOTHING_FOUND, type SearchResult } from './search.ts';

/**
 * Two `_msearch` of 32 searches in flight. A search may queue twice as long as other items, because its credit is charged.
 */
const BATCHES = {
  name: 'Elasticsearch',
  stage: 'search',
  maxBatch: 32,
  maxConcurrentBatches: 2,
  queueTimeoutMs: 2 * QUEUE_TIMEOUT_MS,
} as const;

type Searchable = Exclude<ParsedQuery, { kind: 'nothing' }>;

/**
 * Search in the index behind the alias. Searches of one turn of the event loop share one `_msearch`.
 *
 * A name takes a search for its prefix, and a share in one for all names that equal any of the batch's. No search is scored, and
 * all end early, because the index has the order of results. Prefixes are asked of the alias, and equal names of the last known
 * index. If the prefix's hits are from another index, the alias has moved, and both are repeated. If no name has the prefix, no
 * name equals it.
 */
export function createElasticsearchSearch(client: Client, alias: string): DirectorySearch {
  let index: string | null = null;
  const ask = createRounds(client, BATCHES, async (queries: Searchable[], send, round) => {
    const askedIndex = index;
    const groups = askedIndex === null ? [] : groupNames(queries, round === 0);
    const outcomes = await send([
      ...queries.map((query) => searchLines(alias, filterOf(query))),
      ...groups.map((names) => equalsLines(askedIndex!, names)),
    ]);
    const equals = readEquals(groups, outcomes.slice(queries.length));
    return queries.map((query, position) => {
      const first = outcomes[position]!;
      const outcome = resultOf(query, first, equals, askedIndex);
      if (outcome === 'again') index = (first as SearchResult).index;
      return outcome;
    });
  });
  return {
    find: async (parsed) => (parsed.kind === 'nothing' ? NOTHING_FOUND : ask(parsed)),
  };
}

function filterOf(query: Searchable): object {
  return query.kind === 'nif' ? { term: { nif: query.nif } } : prefixFilter(query.normalized);
}

/**
 * The result of one query, or its failure; `again` if its two searches may have seen different indices, or its equal names
 * are not known.
 * @param askedIndex the index of `equals`
 */
function resultOf(
  query: Searchable,
  first: SearchOutcome,
  equals: Equals,
  askedIndex: string | null,
): RoundOutcome {
  if (first instanceof SearchError || first.index === null || query.kind === 'nif') return first;
  const exact = equals.get(query.normalized);
  if (exact === undefined || first.index !== askedIndex) return 'again';
  if (exact instanceof SearchError) return exact;
  if (exact.length === 0) return first;
  const isExact = new Set(exact.map(({ nif }) => nif));
  const rest = first.entries.filter(({ nif }) => !isExact.has(nif));
  return { entries: [...exact, ...rest].slice(0, MAX_RESULTS), index: first.index };
}

/** The entries of each name that equal it, or the failure. A missing name has to be asked again, by its own search. */
type Equals = Map<string, SearchEntry[] | SearchError>;

/** The names among the queries, in groups that share a search for equal names. */
function groupNames(queries: ParsedQuery[], together: boolean): string[][] {
  const names = [...new Set(queries.flatMap((query) => (query.kind === 'name' ? [query.normalized] : [])))];
  if (names.length === 0) return [];
  return together ? [names] : names.map((name) => [name]);
}

/** The search of one group. */
function equalsLines(index: string, names: string[]): SearchLines {
  return searchLines(index, { terms: { normalized_name: names } }, MAX_RESULTS * names.length);
}

/**
 * Reads the answers to {@link equalsLines}. The names of a removed index are missing, and so are those of a shared search that could
 * not hold all entries.
 */
function readEquals(groups: string[][], outcomes: SearchOutcome[]): Equals {
  const equals: Equals = new Map();
  for (const [position, names] of groups.entries()) {
    const outcome = outcomes[position]!;
    if (outcome instanceof SearchError) {
      if (outcome.status !== 404) for (const name of names) equals.set(name, outcome);
      continue;
    }
    for (const [name, entries] of groupByName(names, outcome.entries) ?? []) equals.set(name, entries);
  }
  return equals;
}

/** @returns `null` when entries of some names may not have fitted, or the index has another normalization */
function groupByName(names: string[], entries: SearchEntry[]): Map<string, SearchEntry[]> | null {
  if (names.length === 1) return new Map([[names[0]!, entries]]);
  if (entries.length === MAX_RESULTS * names.length) return null;
  const byName = new Map<string, SearchEntry[]>(names.map((name) => [name, []]));
  for (const entry of entries) {
    const theirs = byName.get(normalizeName(entry.legalName));
    if (theirs === undefined) return null;
    theirs.push(entry);
  }
  return byName;
}
