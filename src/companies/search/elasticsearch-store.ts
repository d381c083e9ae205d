import type { Client } from '@elastic/elasticsearch';
import { nodePool } from '../../platform/elasticsearch/nodes.ts';
import { BATCH_TIMEOUT_MS, type BatchOptions, createBatcher } from '../../platform/runtime/batcher.ts';
import { SECOND } from '../../platform/units.ts';
import { normalizeName } from '../name.ts';
import type { SortedEntry } from './document.ts';
import type { GenerationReader, OpenGeneration } from './generation-reader.ts';
import {
  prefixFilter,
  SearchError,
  type SearchOutcome,
  searchLines,
  sendSearches,
  wordsFilter,
} from './msearch.ts';
import { DirectoryAwayError, firstOf, MAX_RESULTS } from './search.ts';

/** When no node has answered for this long, a search is not tried (docs/api.md: problems). */
const AWAY_AFTER_MS = 3 * SECOND;
const NOT_FOUND = 404;

/** The directory has no index that can be asked, so the search was not tried. */
export class NoIndexError extends DirectoryAwayError {
  override readonly message = 'the directory has no search index: run "index rebuild"';
}

interface Asked {
  filter: object;
  limit: number;
  /** Names that equal this one come first. */
  equal?: string | undefined;
}

/** Nobody asks the index of an empty directory. */
const EMPTY: GenerationReader = { byNif: async () => [], byPrefix: async () => [], byWords: async () => [] };

/**
 * The indices of generations. Questions of one turn of the event loop share an `_msearch`. None is scored, and all end early,
 * because an index has the order of results.
 */
export function createElasticsearchStore(client: Client, batches: BatchOptions): OpenGeneration {
  const { timeoutMs = BATCH_TIMEOUT_MS } = batches;
  const openIndex = (index: string) => {
    const ask = createBatcher(async (asked: Asked[]) => {
      if (nodePool(client).downMs() > AWAY_AFTER_MS)
        throw new DirectoryAwayError('no Elasticsearch node answers');
      return askTogether(client, index, asked, timeoutMs);
    }, batches);
    return { index, ask };
  };
  let opened: ReturnType<typeof openIndex> | null = null;

  return ({ index, rows }) => {
    if (rows === 0) return EMPTY;
    if (index === null) throw new NoIndexError();
    if (opened?.index !== index) opened = openIndex(index);
    const { ask } = opened;
    const find = async (filter: object, limit = MAX_RESULTS, equal?: string) => {
      const outcome = await ask({ filter, limit, equal });
      if (!(outcome instanceof SearchError)) return outcome;
      throw outcome.status === NOT_FOUND ? new NoIndexError() : outcome;
    };
    return {
      byNif: (nif) => find({ term: { nif } }),
      byPrefix: (prefix, equalFirst) =>
        find(prefixFilter(prefix), MAX_RESULTS, equalFirst ? prefix : undefined),
      async byWords(groups, beginning, limit) {
        const entries = await find(wordsFilter(groups, beginning), limit);
        return entries.map((entry) => ({ ...entry, normalized: normalizedOf(entry) }));
      },
    };
  };
}

/** A sort key has gone through the slow half of the normalization. */
const normalizedOf = ({ sortKey }: SortedEntry) => normalizeName(sortKey);

/** Asks an index some questions at once. All of their equal names are one more, or one for each if they may not have fitted. */
async function askTogether(
  client: Client,
  index: string,
  asked: Asked[],
  timeoutMs: number,
): Promise<SearchOutcome[]> {
  const untilMs = performance.now() + timeoutMs;
  const send = (some: Asked[]) =>
    sendSearches(
      client,
      some.map(({ filter, limit }) => searchLines(index, filter, limit)),
      Math.max(1, untilMs - performance.now()),
    );
  const equalTo = (...names: string[]) => ({
    filter: { terms: { normalized_name: names } },
    limit: MAX_RESULTS * names.length,
  });
  const names = [...new Set(asked.flatMap(({ equal }) => equal ?? []))];
  const found = await send(names.length > 0 ? [...asked, equalTo(...names)] : asked);
  const all = found[asked.length] ?? [];
  if (all instanceof SearchError)
    return asked.map(({ equal }, at) => (equal === undefined ? found[at]! : all));
  const isCut = names.length > 1 && all.length === equalTo(...names).limit;
  const each = isCut ? await send(names.map((name) => equalTo(name))) : [];
  const byName = new Map<string, SearchOutcome>(Map.groupBy(all, normalizedOf));
  for (const [at, outcome] of each.entries()) byName.set(names[at]!, outcome);
  return asked.map(({ equal, limit }, at) => {
    const first = found[at]!;
    const equals = byName.get(equal ?? '') ?? [];
    if (first instanceof SearchError) return first;
    if (equals instanceof SearchError) return equals;
    return equals.length === 0 ? first : firstOf([...equals, ...first], limit);
  });
}
