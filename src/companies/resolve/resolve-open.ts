import type { Client } from '@elastic/elasticsearch';
import type { Sql } from '../../platform/postgres/connect.ts';
import { createBatcher } from '../../platform/runtime/batcher.ts';
import { SECOND } from '../../platform/units.ts';
import { findNif } from '../nif.ts';
import type { CurrentDirectory } from '../search/current.ts';
import { type OpenDirectory, openStore } from '../search/open-search.ts';
import { companyOf, NAMES_AT_ONCE, type Resolution, type Resolve, resolveNames } from './resolve.ts';
import { createReader, type WithReader } from './resolve-reader.ts';

/** For a few names, of which the worst take 30 ms each. */
const TIMEOUT_MS = 3 * SECOND;

/**
 * How names share questions to the directory: one batch at a time, in the order in which they were asked. A list asks for its next
 * names when it has answers for those before them, so lists get batches in turn.
 */
const BATCHES = {
  name: 'the directory',
  stage: 'resolve',
  maxBatch: NAMES_AT_ONCE,
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
  const resolveName = createNameResolver(openReader(sql, elasticsearch, current));
  return async (name) => {
    const nif = findNif(name);
    if (nif === null) return resolveName(name);
    const { entries } = await search.find({ kind: 'nif', nif });
    return companyOf(entries[0]);
  };
}

/** The reader of the configured store. @param sql a pool with the settings of `pointQueries` */
export const openReader = (sql: Sql, elasticsearch: Client | null, current: CurrentDirectory): WithReader =>
  createReader(current, openStore(sql, elasticsearch, { name: 'Elasticsearch', timeoutMs: TIMEOUT_MS }), sql);

/** Monotonic, with the CPU time of this process. Tests have one of their own. */
const CLOCK = {
  nowMs: () => performance.now(),
  cpuMs() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
  sleep: (ms: number) => Bun.sleep(ms),
};

/**
 * Resolves names in batches. After each batch names rest for as long as the process had CPU meanwhile, so that all lists together
 * take at most 500 ms of CPU a second, and single calls have the other half of the core.
 */
export function createNameResolver(
  withReader: WithReader,
  { nowMs, cpuMs, sleep }: typeof CLOCK = CLOCK,
): Resolve {
  let restsUntilMs = 0;
  return createBatcher<string, Resolution>(async (names, bound) => {
    const restMs = restsUntilMs - nowMs();
    if (restMs > 0) await sleep(restMs);
    const startedMs = cpuMs();
    const resolutions = await withReader((reader) => resolveNames(reader, names), bound);
    restsUntilMs = nowMs() + cpuMs() - startedMs;
    return resolutions;
  }, BATCHES);
}
