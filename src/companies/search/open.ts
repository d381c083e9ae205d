import type { Config } from '../../platform/config/config.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import type { Stores } from '../../platform/stores/stores.ts';
import { MIB } from '../../platform/units.ts';
import { type AnswerQuery, answerCached, answerDirectly, type Finder, type KeyOf } from './answer.ts';
import { createAnswerCache } from './answer-cache.ts';
import { type CurrentIndex, createCurrentIndex } from './current-index.ts';
import { createElasticsearchSearch } from './elasticsearch.ts';
import { createPostgresSearch } from './postgres.ts';
import type { DirectorySearch } from './search.ts';

/** Answers queries of one kind, from the cache if there is one. */
type Answering = <Query>(finder: Finder<Query>, keyOf: KeyOf<Query>) => AnswerQuery<Query>;

export interface OpenDirectory {
  search: DirectorySearch;
  answering: Answering;
  /** `null` means that Postgres searches. */
  current: CurrentIndex | null;
}

/** The directory that the configuration asks for: Elasticsearch, or an index in Postgres. All kinds of queries share its cache. */
export function openDirectory(
  config: Pick<Config, 'searchCacheMb'>,
  { sql, elasticsearch }: Pick<Stores, 'sql' | 'elasticsearch'>,
  metrics: Metrics,
): OpenDirectory {
  if (elasticsearch === null)
    return { search: createPostgresSearch(sql), answering: answerDirectly, current: null };
  const current = createCurrentIndex(elasticsearch, sql);
  const search = createElasticsearchSearch(elasticsearch, current);
  if (config.searchCacheMb === 0) return { search, answering: answerDirectly, current };
  const cache = createAnswerCache(config.searchCacheMb * MIB);
  metrics.counterOf(
    'search_cache_answers_total',
    'Searches for names and matches, by whether the cache of answers had them.',
    'outcome',
    () => ({ hit: cache.hits, miss: cache.misses }),
  );
  metrics.gaugeOf(
    'search_cache_bytes',
    'Estimated memory of the cache of search answers.',
    () => cache.bytes,
  );
  return {
    search,
    answering: (finder, keyOf) => answerCached(finder, keyOf, cache, current.confirmed),
    current,
  };
}
