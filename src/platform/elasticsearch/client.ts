import { Client, SniffingTransport } from '@elastic/elasticsearch';
import { nodesOf } from '../config/addresses.ts';
import type { Config } from '../config/config.ts';
import { SECOND } from '../units.ts';
import { FetchConnection } from './connection.ts';
import { NodePool } from './nodes.ts';

/** Retries a request also when its node gave no answer. The client passes this option on in no other way. */
class RetryingTransport extends SniffingTransport {
  constructor(options: ConstructorParameters<typeof SniffingTransport>[0]) {
    super({ ...options, retryOnTimeout: true });
  }
}

/**
 * The client of the configured Elasticsearch; `null` if none is configured. It connects at the first request. Of several
 * nodes each gets its share of the requests, and a retry goes to another node.
 *
 * Requests time out after 30 s, and are retried twice if their node failed them or gave no answer. Long ones, such as a refresh
 * or a force merge, pass their own `requestTimeout`. Searches have their own retry (`sendSearches`).
 */
export function createElasticsearch(
  config: Pick<Config, 'elasticsearchUrl' | 'elasticsearchApiKey'>,
): Client | null {
  if (config.elasticsearchUrl === null) return null;
  return new Client({
    nodes: nodesOf(config.elasticsearchUrl),
    ...(config.elasticsearchApiKey === null ? {} : { auth: { apiKey: config.elasticsearchApiKey } }),
    Connection: FetchConnection,
    ConnectionPool: NodePool,
    Transport: RetryingTransport,
    requestTimeout: 30 * SECOND,
    maxRetries: 2,
    enableMetaHeader: false,
    // Only named members of answers are read. A search of the text for `__proto__` takes as long as parsing it.
    disablePrototypePoisoningProtection: true,
  });
}
