import postgres from 'postgres';
import { SECOND } from '../units.ts';

/** A pool of connections; `int8` columns arrive as JavaScript numbers (every one of ours stays below 2^53). */
export type Sql = postgres.Sql<{ bigint: number }>;

/** The same inside `sql.begin`. */
export type Transaction = postgres.TransactionSql<{ bigint: number }>;

/** Postgres's error code where `lock_timeout` ended a statement. */
export const LOCK_NOT_AVAILABLE = '55P03';

/** A server that lives has said by then that it gives a statement up. */
const SILENCE_MARGIN_MS = 3 * SECOND;

const BY_KEY = {
  plan_cache_mode: 'force_generic_plan',
  random_page_cost: 1,
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  jit: 'off',
};

export interface PostgresOptions {
  /** Connections at most. */
  max?: number;
  /** What `pg_stat_activity` shows. */
  applicationName?: string;
  /**
   * The server gives up a statement after this long; 0: never (imports, migrations). A connection that is silent for
   * three seconds more is given up by us: its host is gone without a word, and only a new one finds the next.
   */
  statementTimeoutMs?: number;
  /** The server gives up waiting for a row or table lock after this long. */
  lockTimeoutMs?: number;
  /**
   * For statements that only ever find rows by their keys, again and again: planned once a connection, for an index.
   * Planning again took more time than running them, and a seq scan of all accounts looked cheap for a few. What is left
   * to the planner finds rows in the order of their keys, or in that of the keys asked for (src/credits/spend.ts).
   */
  byKey?: boolean;
}

/**
 * Opens a pool. Nothing is connected until the first query.
 *
 * The server's own time-outs end what is slow; what a frozen server never answers is bounded by the caller, with
 * `withTimeout` (src/runtime/timeout.ts). `query_timeout` is ours (patches/): postgres.js itself would go on sending statements on
 * a connection that is gone without a word until the kernel gives it up, a quarter of an hour later.
 */
export function connectPostgres(url: string, options: PostgresOptions = {}): Sql {
  const {
    max = 10,
    applicationName = 'company-directory',
    statementTimeoutMs = 0,
    lockTimeoutMs = 0,
    byKey = false,
  } = options;
  return postgres(url, {
    max,
    connect_timeout: 2,
    idle_timeout: 60,
    query_timeout: statementTimeoutMs > 0 ? (statementTimeoutMs + SILENCE_MARGIN_MS) / SECOND : 0,
    // A restarted server is found again within half a second, instead of postgres.js's growing pauses.
    backoff: () => 0.25,
    onnotice: () => {},
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
    connection: {
      application_name: applicationName,
      TimeZone: 'UTC',
      statement_timeout: statementTimeoutMs,
      lock_timeout: lockTimeoutMs,
      idle_in_transaction_session_timeout: statementTimeoutMs > 0 ? 30 * SECOND : 0,
      ...(byKey ? BY_KEY : {}),
    },
  });
}
