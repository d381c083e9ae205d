import { dlopen } from 'bun:ffi';

export const SHARED = 1;
export const EXCLUSIVE = 2;
const NO_WAIT = 4;

type Flock = (fd: number, operation: number) => number;
let flock: Flock | undefined;

/** Loaded at the first use, because a system without this library may work without locks. */
function loadFlock(): Flock {
  const library = process.platform === 'darwin' ? '/usr/lib/libSystem.B.dylib' : 'libc.so.6';
  return dlopen(library, { flock: { args: ['i32', 'i32'], returns: 'i32' } }).symbols.flock;
}

/**
 * Locks an open file by `flock`, without waiting. The kernel drops the lock with the last process that has the file open, also
 * after a `kill -9`. A child that inherits the file shares the lock.
 *
 * @returns `false` means that another process has the lock, and that ours, if we had the other kind, is lost
 * @throws Error when this system has no flock
 */
export function tryFlock(fd: number, operation: typeof SHARED | typeof EXCLUSIVE): boolean {
  flock ??= loadFlock();
  return flock(fd, operation | NO_WAIT) === 0;
}
