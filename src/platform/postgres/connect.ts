import postgres from 'postgres';
import { codeOf, messageOf } from '../errors.ts';
import { MINUTE, SECOND } from '../units.ts';

/** A pool of connections. `int8` columns arrive as JavaScript numbers, because ours stay below 2^53. */
export type Sql = postgres.Sql<{ bigint: number }>;

/** The same inside `sql.begin`. */
export type Transaction = postgres.TransactionSql<{ bigint: number }>;

const LOCK_NOT_AVAILABLE = '55P03';
const QUERY_CANCELED = '57014';

/**
 * Whether a statement failed because it waited too long for a lock. A waiter that gets a row's first lock in the instant of its
 * timeout, and then waits for the second, is told of a "user request" instead. Statements of a pool are cancelled by nobody else.
 */
export const isLockTimeout = (error: unknown): boolean =>
  codeOf(error) === LOCK_NOT_AVAILABLE ||
  (codeOf(error) === QUERY_CANCELED && !/timeout/.test(messageOf(error)));

/**
 * Whether Postgres has answered that a statement failed, so that it was rolled back. Silence, a lost connection and `FATAL` leave the
 * outcome unknown.
 */
export const isRolledBack = (error: unknown) =>
  (error as { severity?: unknown } | null)?.severity === 'ERROR';

export const UNIQUE_VIOLATION = '23505';

/** Options of postgres.js for a connection that differs from a pool's. */
export type ClientOptions = Pick<
  postgres.Options<Record<string, postgres.PostgresType>>,
  'idle_timeout' | 'max_lifetime' | 'fetch_types' | 'connection'
>;

const POINT_QUERY_SETTINGS = {
  plan_cache_mode: 'force_generic_plan',
  random_page_cost: 1,
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  max_parallel_workers_per_gather: 0,
  synchronize_seqscans: 'off',
  jit: 'off',
};

export interface PostgresOptions {
  max?: number;
  /** The name in `pg_stat_activity`. */
  applicationName?: string;
  /** The server cancels a statement after this long; 0 means never (imports, migrations). */
  statementTimeoutMs?: number;
  /** The server cancels a wait for a row or table lock after this long. */
  lockTimeoutMs?: number;
  /**
   * For statements that find rows by their keys only: each is planned once a connection, for an index. Planning took longer
   * than running them, and a sequential scan looked cheap for a few accounts. The remaining plans find rows in the order of
   * their keys, or of the given keys (src/metering/credits/charge-batch.ts).
   */
  pointQueries?: boolean;
}

/**
 * Opens a pool, which connects at the first query.
 *
 * The server's timeouts end slow statements. The caller bounds its wait for a frozen server with `withTimeout`
 * (src/platform/runtime/timeout.ts). A server process opens its pools by `createPools`, which notices a lost host.
 */
export function connectPostgres(url: string, options: PostgresOptions = {}, more: ClientOptions = {}): Sql {
  const {
    max = 10,
    applicationName = 'company-directory',
    statementTimeoutMs = 0,
    lockTimeoutMs = 0,
    pointQueries = false,
  } = options;
  return postgres(url, {
    ...socketOf(url),
    max,
    connect_timeout: 2,
    idle_timeout: 60,
    // Bounds what a connection remembers of a server that has changed. Dedicated connections and those of `listen` have no end.
    max_lifetime: (10 * MINUTE) / SECOND,
    // Finds a restarted server within half a second, instead of after postgres.js's growing pauses.
    backoff: () => 0.25,
    onnotice: () => {},
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
    ...more,
    connection: {
      application_name: applicationName,
      TimeZone: 'UTC',
      statement_timeout: statementTimeoutMs,
      lock_timeout: lockTimeoutMs,
      // Of commands, too: a lost one would hold its account's lock until the kernel notices, for hours.
      idle_in_transaction_session_timeout: 30 * SECOND,
      ...(pointQueries ? POINT_QUERY_SETTINGS : {}),
      ...more.connection,
    },
  });
}

/** A Unix socket, whose folder a URL has as its host, escaped, as in libpq. postgres.js takes it as an option only. */
function socketOf(url: string): { host?: string } {
  const [, folder] = /^\w+:\/\/(?:[^/?#]*@)?(%2f[^/?#:]*)/i.exec(url) ?? [];
  return folder === undefined ? {} : { host: decodeURIComponent(folder) };
}
