import type { Client } from '@elastic/elasticsearch';
import type { Handler } from '../admission/pipeline.ts';
import type { Config } from '../config/config.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Sql } from '../postgres/connect.ts';
import type { Cleanup } from '../runtime/shutdown.ts';
import { MIB } from '../units.ts';
import { answerCached, answerDirectly } from './answer.ts';
import { createAnswerCache } from './answer-cache.ts';
import { watchCurrentIndex } from './current-index.ts';
import { createElasticsearchSearch } from './elasticsearch.ts';
import { createPostgresSearch } from './postgres.ts';
import { createSearchHandler } from './route.ts';

/** The search handler on the directory that the configuration asks for: Elasticsearch, or an index in Postgres. */
export function openSearch(
  config: Pick<Config, 'elasticsearchAlias' | 'searchCacheMb'>,
  { sql, elasticsearch }: { sql: Sql; elasticsearch: Client | null },
  cleanup: Cleanup,
  metrics: Metrics,
): Handler {
  if (elasticsearch === null) return createSearchHandler(answerDirectly(createPostgresSearch(sql)));
  const search = createElasticsearchSearch(elasticsearch, config.elasticsearchAlias);
  if (config.searchCacheMb === 0) return createSearchHandler(answerDirectly(search));
  const cache = createAnswerCache(config.searchCacheMb * MIB);
  metrics.observeSearchCache(cache);
  const currentIndex = watchCurrentIndex(sql);
  cleanup.add('the watch of the current index', () => currentIndex.close());
  return createSearchHandler(answerCached(search, cache, currentIndex.name));
}
