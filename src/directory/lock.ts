import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { RefusedError } from '../errors.ts';
import type { Sql } from '../postgres/connect.ts';
import { withDedicated } from '../postgres/dedicated.ts';
import { SECOND } from '../units.ts';
import type { DirectoryTools } from './tools.ts';

/** One import, rebuild or rollback at a time: an arbitrary number, ours alone. */
const DIRECTORY_LOCK = 7_205_440_332;

/** The right to change the directory, as long as its one connection lives. */
export interface DirectoryLock {
  /** The connection that holds the lock; temporary tables live here. */
  sql: Sql;
  /** Written into the row `directory`: a later holder's differs. */
  token: string;
  /** The connection's process in Postgres: another one after a silent reconnection. */
  backend: number;
}

/** A holder that has just died, or is about to leave, is waited for so long. */
const PATIENCE_MS = 2 * SECOND;
const RETRY_MS = 100;

/**
 * Runs work that changes the directory, alone over all processes. Statements of the lock's connection are cancelled when
 * the tools' signal aborts.
 *
 * @param doing for whoever comes second, e.g. `companies import`
 * @param patienceMs how long another holder is waited for
 * @throws RefusedError naming the holder when another process has the lock
 */
export async function withDirectoryLock<T>(
  tools: DirectoryTools,
  doing: string,
  work: (lock: DirectoryLock) => Promise<T>,
  patienceMs: number = PATIENCE_MS,
): Promise<T> {
  return withDedicated(tools, async (sql) => {
    const lock = await acquire(sql, tools, doing, patienceMs);
    try {
      return await work(lock);
    } finally {
      await release(lock).catch(() => {}); // a lost connection has let go of it already
    }
  });
}

async function acquire(
  sql: Sql,
  { actor, signal }: DirectoryTools,
  doing: string,
  patienceMs: number,
): Promise<DirectoryLock> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const [row] = await sql<{ acquired: boolean; pid: number }[]>`
      SELECT pg_try_advisory_lock(${DIRECTORY_LOCK}) AS acquired, pg_backend_pid() AS pid`;
    if (row!.acquired) {
      const token = randomUUID();
      const holder = `${actor} on ${hostname()}, process ${process.pid}`;
      await sql`
        UPDATE directory SET lock_token = ${token}, lock_backend = ${row!.pid}, lock_holder = ${holder},
          lock_doing = ${doing}, lock_since = now()`;
      return { sql, token, backend: row!.pid };
    }
    if (performance.now() >= deadline)
      throw new RefusedError(`${await holderOf(sql)}: wait until that is done`);
    await Bun.sleep(RETRY_MS);
    signal.throwIfAborted();
  }
}

async function holderOf(sql: Sql): Promise<string> {
  const [row] = await sql<{ holder: string; doing: string; since: string }[]>`
    SELECT lock_holder AS holder, lock_doing AS doing, to_char(lock_since, 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS since
    FROM directory
    WHERE lock_backend IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted)`;
  if (row === undefined) return 'another process is changing the directory';
  return `the directory is being changed by ${row.holder} (${row.doing}, since ${row.since})`;
}

async function release({ sql, token }: DirectoryLock): Promise<void> {
  await sql`
    UPDATE directory SET lock_token = NULL, lock_backend = NULL, lock_holder = NULL, lock_doing = NULL, lock_since = NULL
    WHERE lock_token = ${token}`;
  await sql`SELECT pg_advisory_unlock(${DIRECTORY_LOCK})`;
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
