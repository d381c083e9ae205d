/** Importing this file starts Elasticsearch and Redis, for tests of the mode `full`. */
import './elasticsearch.ts';
import './redis.ts';

/** `postgres`: it searches, and the process keeps the buckets. `full`: Elasticsearch and Redis do. */
export type Mode = 'postgres' | 'full';
export const MODES: readonly Mode[] = ['postgres', 'full'];
