import { dlopen } from 'bun:ffi';
import { closeSync, openSync } from 'node:fs';
import { MINUTE, SECOND } from '../../units.ts';
import { giveToOwner, type Layout } from './paths.ts';

const SHARED = 1;
const EXCLUSIVE = 2;
const NO_WAIT = 4;

type Flock = (fd: number, operation: number) => number;
let flock: Flock | undefined;

/** Loaded at the first use, because a system without this library may still use DATABASE_URL. */
function loadFlock(): Flock {
  const library = process.platform === 'darwin' ? '/usr/lib/libSystem.B.dylib' : 'libc.so.6';
  return dlopen(library, { flock: { args: ['i32', 'i32'], returns: 'i32' } }).symbols.flock;
}

/**
 * A lock between processes by `flock`, which the kernel drops with the last process that has the file open, also after a
 * `kill -9`. A child that inherits the file shares the lock. The methods never wait; `false` means that another has the lock,
 * and that ours, if we had the other kind, is lost.
 */
export interface LockFile {
  fd: number;
  tryExclusive(): boolean;
  tryShared(): boolean;
  /** Closes the file. A child that shares the lock keeps it. */
  close(): void;
}

/** Opens (and makes, mode 0600) a lock file; nothing is locked yet. */
export function openLockFile(layout: Layout, path: string): LockFile {
  const fd = openSync(path, 'a', 0o600);
  giveToOwner(layout, path);
  flock ??= loadFlock();
  const lock = (operation: number) => flock!(fd, operation | NO_WAIT) === 0;
  return {
    fd,
    tryExclusive: () => lock(EXCLUSIVE),
    tryShared: () => lock(SHARED),
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
