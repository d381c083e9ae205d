import { Client, HttpConnection } from '@elastic/elasticsearch';
import type { Config } from '../config.ts';
import { SECOND } from '../units.ts';

/** Sockets kept to Elasticsearch. Its search threads are a few per core: more would only queue there. */
const MAX_SOCKETS = 64;

/**
 * The client of the configured Elasticsearch, or null where none is. Nothing is connected until the first request.
 *
 * Requests give up after 30 s and are repeated twice where the connection failed (long ones, such as a clone or a
 * force merge, pass their own `requestTimeout`; searches pass `maxRetries: 0` and a bound of their own).
 */
export function createElasticsearch(
  config: Pick<Config, 'elasticsearchUrl' | 'elasticsearchApiKey'>,
): Client | null {
  if (config.elasticsearchUrl === null) return null;
  return new Client({
    node: config.elasticsearchUrl,
    ...(config.elasticsearchApiKey === null ? {} : { auth: { apiKey: config.elasticsearchApiKey } }),
    // The client's default connection needs parts of undici that Bun's own copy lacks: it fails at its first call.
    Connection: HttpConnection,
    agent: { keepAlive: true, maxSockets: MAX_SOCKETS, maxFreeSockets: MAX_SOCKETS },
    requestTimeout: 30 * SECOND,
    maxRetries: 2,
    enableMetaHeader: false,
  });
}
