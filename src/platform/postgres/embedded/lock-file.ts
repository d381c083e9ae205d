import { closeSync, openSync } from 'node:fs';
import { EXCLUSIVE, SHARED, tryFlock } from '../../runtime/flock.ts';
import { MINUTE, SECOND } from '../../units.ts';
import { giveToOwner, type Layout } from './paths.ts';

export type LockFile = ReturnType<typeof openLockFile>;

/** Opens (and makes, mode 0600) the file of a lock between processes by {@link tryFlock}; nothing is locked yet. */
export function openLockFile(layout: Layout, path: string) {
  const fd = openSync(path, 'a', 0o600);
  giveToOwner(layout, path);
  return {
    fd,
    tryExclusive: () => tryFlock(fd, EXCLUSIVE),
    tryShared: () => tryFlock(fd, SHARED),
    /** Closes the file. A child that shares the lock keeps it. */
    close: () => closeSync(fd),
  };
}

const MUTEX_POLL_MS = 25;
const MUTEX_TIMEOUT_MS = MINUTE;

/**
 * Does work while no other process starts, joins or stops Postgres, waiting up to a minute for its turn.
 *
 * @throws Error with one line when the minute is over; the signal's reason when aborted
 */
export async function withMutex<T>(layout: Layout, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const mutex = openLockFile(layout, layout.mutex);
  const deadline = performance.now() + MUTEX_TIMEOUT_MS;
  try {
    while (!mutex.tryExclusive()) {
      signal?.throwIfAborted();
      if (performance.now() > deadline) {
        throw new Error(
          `another process has been starting or stopping the embedded Postgres in ${layout.home} ` +
            `for ${MUTEX_TIMEOUT_MS / SECOND} s: wait for it, or end it (\`fuser ${layout.mutex}\`) and try again`,
        );
      }
      await Bun.sleep(MUTEX_POLL_MS);
    }
    return await work();
  } finally {
    mutex.close();
  }
}
