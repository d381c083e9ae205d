import type { Client } from '@elastic/elasticsearch';
import { QUEUE_TIMEOUT_MS } from '../../platform/runtime/batcher.ts';
import { normalizeName } from '../name.ts';
import type { CurrentIndex } from './current-index.ts';
import { SearchError, type SearchOutcome } from './hits.ts';
import { createIndexBatches } from './index-batches.ts';
import { prefixFilter, searchLines } from './msearch.ts';
import type { ParsedQuery } from './query.ts';
import { type DirectorySearch, MAX_RESULTS, NOTHING_FOUND } from './search.ts';

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
 * Search in the current index. Searches of one turn of the event loop share one `_msearch`. No search is scored, and all end early,
 * because the index has the order of results. A name takes a search for its prefix, and a share in one for all names that equal any of
 * the batch's.
 */
export function createElasticsearchSearch(client: Client, current: CurrentIndex): DirectorySearch {
  const ask = createIndexBatches(client, current, BATCHES, async (queries: Searchable[], index, send) => {
    const names = [...new Set(queries.flatMap((query) => (query.kind === 'name' ? [query.normalized] : [])))];
    const equalsLines = (...some: string[]) =>
      searchLines(index, { terms: { normalized_name: some } }, MAX_RESULTS * some.length);
    const found = await send([
      ...queries.map((query) => searchLines(index, filterOf(query))),
      ...(names.length > 0 ? [equalsLines(...names)] : []),
    ]);
    let equals = groupEquals(names, found[queries.length] ?? []);
    if (equals === null) {
      const each = await send(names.map((name) => equalsLines(name)));
      equals = new Map(names.map((name, at) => [name, each[at]!]));
    }
    return queries.map((query, at) => {
      const first = found[at]!;
      if (first instanceof SearchError || query.kind === 'nif') return first;
      const exact = equals.get(query.normalized) ?? [];
      if (exact instanceof SearchError) return exact;
      if (exact.length === 0) return first;
      const isExact = new Set(exact.map(({ nif }) => nif));
      return [...exact, ...first.filter(({ nif }) => !isExact.has(nif))].slice(0, MAX_RESULTS);
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
 * The entries that equal each name, of the answer for all names, or its failure.
 * @returns `null` when entries of some names may not have fitted, or the index has another normalization
 */
function groupEquals(names: string[], outcome: SearchOutcome): Map<string, SearchOutcome> | null {
  if (outcome instanceof SearchError || names.length === 1)
    return new Map(names.map((name) => [name, outcome]));
  if (names.length > 0 && outcome.length === MAX_RESULTS * names.length) return null;
  const byName = Map.groupBy(outcome, ({ legalName }) => normalizeName(legalName));
  return [...byName.keys()].every((name) => names.includes(name)) ? byName : null;
}
