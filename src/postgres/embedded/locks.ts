import { Database } from 'bun:sqlite';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { codeOf } from '../../errors.ts';
import { MINUTE, SECOND } from '../../units.ts';
import { explainFileError, giveToOwner, type Layout, writePrivateFile } from './layout.ts';

/**
 * A lock file between processes that needs no clean-up after a `kill -9`.
 *
 * Bun has no flock, but SQLite takes kernel locks on its file, and the kernel drops them with the process. SQLite is
 * also right about several locks on one file within one process, where plain POSIX locks are not: closing any
 * descriptor would drop them all. So nothing else may ever open these files.
 */
export interface LockFile {
  /** Never waits. False means that another holder has it, shared or exclusively. */
  tryExclusive(): boolean;
  /** Never waits. False means that another holder has it exclusively. */
  tryShared(): boolean;
  release(): void;
  /** Releases and closes; the object can't be used afterwards. */
  close(): void;
}

/** Opens (and makes, mode 0600) a lock file; nothing is locked yet. */
export function openLockFile(layout: Layout, path: string): LockFile {
  if (!existsSync(path)) makeLockFile(layout, path);
  const database = new Database(path, { readwrite: true });
  // Every transaction is rolled back, so a killed process leaves no journal.
  database.run('PRAGMA busy_timeout = 0');
  const unlessBusy = (lock: () => void): boolean => {
    try {
      lock();
      return true;
    } catch (error) {
      release();
      if (codeOf(error)?.startsWith('SQLITE_BUSY')) return false;
      throw explainFileError(error, layout.dataDir);
    }
  };
  const release = () => {
    if (database.inTransaction) database.run('ROLLBACK');
  };
  return {
    tryExclusive: () =>
      unlessBusy(() => {
        database.run('PRAGMA journal_mode = MEMORY');
        database.run('BEGIN EXCLUSIVE');
      }),
    tryShared: () =>
      unlessBusy(() => {
        database.run('BEGIN');
        // The shared lock begins with the first read and lasts until the transaction ends.
        database.query('SELECT count(*) FROM sqlite_schema').get();
      }),
    release,
    close: () => {
      release();
      database.close();
    },
  };
}

function makeLockFile(layout: Layout, path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
    giveToOwner(layout, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw explainFileError(error, layout.dataDir);
  }
}

const MUTEX_POLL_MS = 25;
const MUTEX_TIMEOUT_MS = MINUTE;

/**
 * Takes the mutex that orders starting, joining and stopping, waiting up to a minute for it.
 *
 * @returns the function that releases it
 * @throws Error naming the process that holds it when the minute is over; the signal's reason when aborted
 */
export async function takeMutex(layout: Layout, signal?: AbortSignal): Promise<() => void> {
  const mutex = openLockFile(layout, layout.mutex);
  const deadline = performance.now() + MUTEX_TIMEOUT_MS;
  try {
    while (!mutex.tryExclusive()) {
      signal?.throwIfAborted();
      if (performance.now() > deadline) throw new Error(mutexTimeout(layout));
      await Bun.sleep(MUTEX_POLL_MS);
    }
  } catch (error) {
    mutex.close();
    throw explainFileError(error, layout.dataDir);
  }
  nameHolder(layout);
  return () => mutex.close();
}

function nameHolder(layout: Layout): void {
  try {
    writePrivateFile(layout, layout.mutexHolder, `${process.pid}\n`);
  } catch {
    // On a full disk it must still be possible to join and to leave.
  }
}

function mutexTimeout(layout: Layout): string {
  const holder = existsSync(layout.mutexHolder) ? readFileSync(layout.mutexHolder, 'utf8').trim() : 'unknown';
  return (
    `the process with PID ${holder} has been starting or stopping the embedded Postgres in ${layout.home} ` +
    `for ${MUTEX_TIMEOUT_MS / SECOND} s: wait for it, or end it and try again`
  );
}
