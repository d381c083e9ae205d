import { Client } from '@elastic/elasticsearch';
import { nodesOf } from '../addresses.ts';
import type { Config } from '../config.ts';
import { SECOND } from '../units.ts';
import { FetchConnection } from './connection.ts';
import { NodePool } from './nodes.ts';

/**
 * The client of the configured Elasticsearch, or null where none is. Nothing is connected until the first request. Of
 * several nodes each gets its share of the requests, and a repeat goes to another one.
 *
 * Requests give up after 30 s and are repeated twice where the connection failed (long ones, such as a clone or a
 * force merge, pass their own `requestTimeout`; searches repeat by themselves, within a bound of their own).
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
    requestTimeout: 30 * SECOND,
    maxRetries: 2,
    enableMetaHeader: false,
    // Of answers only members that have a name here are read: looking through the text for others takes as long as parsing it.
    disablePrototypePoisoningProtection: true,
  });
}
