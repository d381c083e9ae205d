import { type ClientOptions, connectPostgres, type PostgresOptions, type Sql } from './connect.ts';
import { isSessionLost, sessionLost, watchSession } from './session-watch.ts';

/** Memory for sorting and for building indexes, which run one at a time. */
const WORK_MEM = '128MB';
const MAINTENANCE_WORK_MEM = '256MB';

/**
 * A dedicated connection, for work that belongs to a session: advisory locks, temporary tables, COPY.
 * By default it has no statement timeout, and is never closed because it is idle, old or silent.
 *
 * If it is lost, postgres.js silently reconnects at the next query, and the session's locks and tables are lost. A caller
 * that relies on a lock compares `pg_backend_pid()`.
 *
 * @returns a pool of exactly one connection; the caller ends it
 */
export function openDedicated(
  databaseUrl: string,
  options: Omit<PostgresOptions, 'max'>,
  more: Omit<ClientOptions, 'connection'> = {},
): Sql {
  return connectPostgres(
    databaseUrl,
    { ...options, max: 1 },
    {
      idle_timeout: undefined,
      max_lifetime: null,
      ...more,
      connection: { idle_in_transaction_session_timeout: 0 },
    },
  );
}

/**
 * The watching connection sends its one query alone, so it does not ask for the array types. postgres.js 3.4.9 may open a connection
 * after the pool's end, which closes itself when it is idle.
 */
const WATCH_OPTIONS = { idle_timeout: 10, fetch_types: false };

/**
 * Runs work on a dedicated connection, with memory for large sorts. Its statement is cancelled when the signal
 * aborts, and the work then fails with the signal's reason.
 *
 * Work that has made its change calls `changed`. After that no statement is cancelled, and the work doesn't fail with the
 * signal's reason, so that this reason always means that nothing has changed.
 *
 * @param context.sql a pool on the same database, for the cancellation
 * @throws RefusedError within 15 s when the connection is lost, or Postgres stops answering
 */
export async function withDedicated<T>(
  { databaseUrl, sql: pool, signal }: { databaseUrl: string; sql: Sql; signal: AbortSignal },
  work: (sql: Sql, changed: () => Promise<void>) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const sql = openDedicated(databaseUrl, { applicationName: 'company-directory import' });
  let backend = 0;
  let isChanged = false;
  let cancelling: Promise<unknown> | null = null;
  let watch: Awaited<ReturnType<typeof watchSession>> | undefined;
  const cancel = () => {
    if (backend !== 0) cancelling = pool`SELECT pg_cancel_backend(${backend})`.catch(() => {});
  };
  const changed = async () => {
    isChanged = true;
    signal.removeEventListener('abort', cancel);
    if (cancelling === null) return;
    await cancelling;
    await sql`SELECT 1`.catch(() => {}); // a late cancellation hits this query
  };
  signal.addEventListener('abort', cancel);
  try {
    // A killed client's statement would otherwise run to its end and hold the lock until then.
    await sql`SET client_connection_check_interval = '500ms'`.catch(() => {}); // not on every platform
    await sql.unsafe(`SET work_mem = '${WORK_MEM}'; SET maintenance_work_mem = '${MAINTENANCE_WORK_MEM}'`);
    const [row] = await sql<{ pid: number; startedAt: string }[]>`
      SELECT pid, backend_start::text AS "startedAt" FROM pg_stat_activity WHERE pid = pg_backend_pid()`;
    backend = row!.pid;
    const openWatch = () =>
      openDedicated(databaseUrl, { applicationName: 'company-directory watch' }, WATCH_OPTIONS);
    watch = await watchSession(openWatch, row!);
    signal.throwIfAborted();
    return await Promise.race([work(sql, changed), watch.lost]);
  } catch (error) {
    if (!isChanged) signal.throwIfAborted();
    throw isSessionLost(error) ? sessionLost(error) : error;
  } finally {
    signal.removeEventListener('abort', cancel);
    await watch?.stop();
    await sql.end({ timeout: 1 });
  }
}
