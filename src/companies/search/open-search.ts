import type { Client } from '@elastic/elasticsearch';
import type { Config } from '../../platform/config/config.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { type BatchOptions, QUEUE_TIMEOUT_MS } from '../../platform/runtime/batcher.ts';
import type { Stores } from '../../platform/stores/stores.ts';
import { MIB } from '../../platform/units.ts';
import { type Answering, answerDirectly, createAnswerCache } from './answer.ts';
import { type CurrentDirectory, openCurrent } from './current.ts';
import { createElasticsearchStore } from './elasticsearch-store.ts';
import type { OpenGeneration } from './generation-reader.ts';
import { createPostgresStore } from './postgres-store.ts';
import { createSearch, type DirectorySearch } from './search.ts';

export interface OpenDirectory {
  search: DirectorySearch;
  /** From the cache if there is one. */
  answering: Answering;
  current: CurrentDirectory;
}

/** Two `_msearch` of 32 questions in flight. A question may queue twice as long as other items, because its credit is charged. */
export const INDEX_BATCHES = {
  name: 'Elasticsearch',
  maxBatch: 32,
  maxConcurrentBatches: 2,
  queueTimeoutMs: 2 * QUEUE_TIMEOUT_MS,
} as const;

/** The configured store: Elasticsearch, or Postgres. @param sql a pool; for words with the settings of `pointQueries` */
export const openStore = (sql: Sql, client: Client | null, batches: BatchOptions): OpenGeneration =>
  client === null ? createPostgresStore(sql) : createElasticsearchStore(client, batches);

export const openSearch = (sql: Sql, client: Client | null, current: CurrentDirectory): DirectorySearch =>
  createSearch(current, openStore(sql, client, { ...INDEX_BATCHES, stage: 'search' }));

/** The directory, of which all kinds of queries share the cache of answers. */
export function openDirectory(
  config: Pick<Config, 'searchCacheMb'>,
  { sql, elasticsearch }: Pick<Stores, 'sql' | 'elasticsearch'>,
  metrics: Metrics,
): OpenDirectory {
  const current = openCurrent(sql, elasticsearch);
  const search = openSearch(sql, elasticsearch, current);
  if (config.searchCacheMb === 0) return { search, answering: answerDirectly, current };
  const { answering, counts, bytes } = createAnswerCache(config.searchCacheMb * MIB, current);
  metrics.counterOf(
    'search_cache_answers_total',
    'Searches for names and matches, by whether the cache of answers had them.',
    'outcome',
    counts,
  );
  metrics.gaugeOf('search_cache_bytes', 'Estimated memory of the cache of search answers.', bytes);
  return { search, answering, current };
}
