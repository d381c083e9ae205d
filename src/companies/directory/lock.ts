import { hostname } from 'node:os';
import { RefusedError } from '../../platform/errors.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { withDedicated } from '../../platform/postgres/dedicated.ts';
import { toSecond } from '../../platform/terminal/text.ts';
import { SECOND } from '../../platform/units.ts';
import type { DirectoryContext } from './directory-context.ts';

/** An arbitrary number of our own lock, under which one import, rebuild or rollback runs at a time. */
const DIRECTORY_LOCK = 7_205_440_332;

/** The right to change the directory. It ends with its connection. */
export interface DirectoryLock {
  /** The connection that holds the lock, and temporary tables. */
  sql: Sql;
  /** The connection's process in Postgres, which is written into the row `directory`. It changes at a silent reconnection. */
  backend: number;
  /** Call it when the directory has changed, which ends interruptions. */
  changed(): Promise<void>;
}

/** All work of a server's check under the lock. It takes seconds at most, so commands wait for it. */
export const TIDYING = 'tidying up';
const TIDYING_PATIENCE_MS = 30 * SECOND;

/** An attempt waits this long for a holder that has just died or is about to leave. */
const PATIENCE_MS = 2 * SECOND;
const RETRY_MS = 100;

/**
 * Runs work that changes the directory; only one process at a time does. Statements of the lock's connection are cancelled when
 * the context's signal aborts.
 *
 * @param doing the name of the work for other processes, e.g. `companies import`
 * @throws RefusedError naming the holder when another process has the lock
 */
export async function withDirectoryLock<T>(
  context: DirectoryContext,
  doing: string,
  work: (lock: DirectoryLock) => Promise<T>,
  { patienceMs = PATIENCE_MS }: { patienceMs?: number } = {},
): Promise<T> {
  return withDedicated(context, async (sql, changed) => {
    const lock = { ...(await acquire(sql, context, doing, patienceMs)), changed };
    try {
      return await work(lock);
    } finally {
      // The holder stays in the row, and counts no more. A lost connection has released the lock already.
      await sql`SELECT pg_advisory_unlock(${DIRECTORY_LOCK})`.catch(() => {});
    }
  });
}

async function acquire(
  sql: Sql,
  { actor, signal }: DirectoryContext,
  doing: string,
  patienceMs: number,
): Promise<Omit<DirectoryLock, 'changed'>> {
  const startedAt = performance.now();
  for (;;) {
    const [row] = await sql<{ acquired: boolean; pid: number }[]>`
      SELECT pg_try_advisory_lock(${DIRECTORY_LOCK}) AS acquired, pg_backend_pid() AS pid`;
    if (row!.acquired) {
      const holder = `${actor} on ${hostname()}, process ${process.pid}`;
      await sql`
        UPDATE directory SET lock_backend = ${row!.pid}, lock_holder = ${holder},
          lock_doing = ${doing}, lock_since = now()`;
      return { sql, backend: row!.pid };
    }
    const waitedMs = performance.now() - startedAt;
    if (waitedMs >= patienceMs) {
      const holder = await readHolder(sql);
      // A lock without a holder has just been taken or left.
      const isBrief = patienceMs > 0 && (holder === null || holder.doing === TIDYING);
      if (!isBrief || waitedMs >= TIDYING_PATIENCE_MS) {
        const who = holder === null ? 'another process' : describeHolder(holder);
        throw new RefusedError(`the directory is being changed by ${who}: wait until that is done`);
      }
    }
    await Bun.sleep(RETRY_MS);
    signal.throwIfAborted();
  }
}

export interface LockHolder {
  /** User, host and process, e.g. `cli:maria on host, process 7`. */
  holder: string;
  doing: string;
  since: Date;
}

/** @returns `null` when no process changes the directory, or the holder is not known */
export async function readHolder(sql: Sql): Promise<LockHolder | null> {
  const [row] = await sql<LockHolder[]>`
    SELECT lock_holder AS holder, lock_doing AS doing, lock_since AS since FROM directory
    WHERE lock_backend IN (
      SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted
        AND classid::bigint << 32 | objid::bigint = ${DIRECTORY_LOCK}
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`;
  return row ?? null;
}

export function describeHolder({ holder, doing, since }: LockHolder): string {
  return `${holder} (${doing}, since ${toSecond(since)})`;
}

/** @throws RefusedError when the lock's connection was lost in the meantime */
export async function assertHeld({ sql, backend }: DirectoryLock): Promise<void> {
  const [row] = await sql<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  if (row!.pid !== backend) throw lockLost();
}

export function lockLost(): RefusedError {
  return new RefusedError(
    'the connection that held the lock was lost: nothing has changed, run the command again',
  );
}
