import type { Client } from '@elastic/elasticsearch';
import type { Sql } from '../../platform/postgres/connect.ts';
import { createBatcher } from '../../platform/runtime/batcher.ts';
import { SECOND } from '../../platform/units.ts';
import { findNif } from '../nif.ts';
import type { OpenDirectory } from '../search/open.ts';
import { createElasticsearchReader } from './elasticsearch.ts';
import { createPostgresReader } from './postgres.ts';
import { companyOf, NAMES_AT_ONCE, type Resolution, type Resolve, resolveNames } from './resolve.ts';

/** For a few names, of which the worst take 30 ms each. */
const TIMEOUT_MS = 3 * SECOND;

/** How names share questions to the directory: those of one list that are asked at once. */
const BATCHES = {
  name: 'the directory',
  stage: 'resolve',
  maxBatch: NAMES_AT_ONCE,
  maxConcurrentBatches: 2,
  queueTimeoutMs: TIMEOUT_MS,
  timeoutMs: TIMEOUT_MS,
};

/**
 * Resolves names by the directory that searches use; a text with a NIF is the entry of that NIF.
 * @param sql a pool with the settings of `pointQueries`
 */
export function openResolve(
  { sql, elasticsearch }: { sql: Sql; elasticsearch: Client | null },
  { search, current }: Pick<OpenDirectory, 'search' | 'current'>,
): Resolve {
  const withReader =
    elasticsearch === null || current === null
      ? createPostgresReader(sql)
      : createElasticsearchReader(elasticsearch, sql, current, TIMEOUT_MS);
  const resolveName = createBatcher<string, Resolution>(
    (names, bound) => withReader((reader) => resolveNames(reader, names), bound),
    BATCHES,
  );
  return async (name) => {
    const nif = findNif(name);
    if (nif === null) return resolveName(name);
    const { entries } = await search.find({ kind: 'nif', nif });
    return companyOf(entries[0]);
  };
}
