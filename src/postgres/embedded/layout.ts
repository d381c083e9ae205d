import { dlopen } from 'bun:ffi';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { codeOf, messageOf, RefusedError } from '../../errors.ts';
import { MINUTE, SECOND } from '../../units.ts';

/** The files of one embedded Postgres, all below `home`, which only its owner can enter. */
export type Layout = ReturnType<typeof layoutAt>;

/** @param home `DATA_DIR/postgres`, without symbolic links */
function layoutAt(dataDir: string, home: string) {
  const at = (name: string) => join(home, name);
  return {
    /** DATA_DIR itself, absolute. */
    dataDir,
    home,
    /** Postgres's own data directory; it appears complete, by one rename, or not at all. */
    cluster: at('cluster'),
    /** The password of the superuser `postgres`, made once. */
    password: at('password'),
    /** The password of the service's role, made once. */
    servicePassword: at('service-password'),
    /** The port and PID namespace of the last start. */
    endpoint: at('endpoint.json'),
    /** Locked exclusively while a process starts, joins or stops Postgres. */
    mutex: at('mutex'),
    /** Locked shared by every process that uses this Postgres, while it does. */
    participants: at('participants'),
    /** Locked exclusively by Postgres itself, which inherits the open file. */
    running: at('running'),
    log: at('postgres.log'),
  };
}

/**
 * Makes DATA_DIR and its `postgres` folder (mode 0700).
 * An existing DATA_DIR keeps its mode unless it is empty, because it may be another program's folder.
 *
 * @throws Error with one line that says what to do when the folder can't be used.
 */
export function prepareLayout(dataDir: string): Layout {
  const absolute = resolve(dataDir);
  try {
    mkdirSync(absolute, { recursive: true, mode: 0o700 });
    if (readdirSync(absolute).length === 0) tightenIfOurs(absolute);
    const home = join(absolute, 'postgres');
    mkdirSync(home, { recursive: true, mode: 0o700 });
    if ((statSync(home).mode & 0o777) !== 0o700) chmodSync(home, 0o700);
    return layoutAt(absolute, realpathSync(home));
  } catch (error) {
    const explained = explainFileError(error, absolute);
    if (explained !== error) throw explained;
    // A file system without ordinary folders (/proc), a name too long, …
    throw new Error(
      `DATA_DIR ${absolute} can't be made or used (${messageOf(error)}): set DATA_DIR to another path`,
      { cause: error },
    );
  }
}

function tightenIfOurs(directory: string): void {
  try {
    chmodSync(directory, 0o700);
  } catch {
    // A mounted volume of another owner: `postgres` below it is closed anyway.
  }
}

/** Replaces a file of mode 0600 in one step, on disk before this returns. Call it with the mutex held. */
export function writePrivateFile(layout: Layout, path: string, content: string): void {
  const unfinished = `${path}.new`;
  // A start on a full disk has left it, perhaps of another user.
  rmSync(unfinished, { force: true });
  writeFileSync(unfinished, content, { mode: 0o600, flush: true });
  giveToOwner(layout, unfinished);
  renameSync(unfinished, path);
}

/** Makes a rename or a new entry in `directory` survive a power cut. */
export function syncDirectory(directory: string): void {
  const fd = openSync(directory, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Files that root writes in the folder of an ordinary user must stay usable for that user's next command. */
export function giveToOwner(layout: Layout, path: string): void {
  if (process.getuid?.() !== 0) return;
  const owner = statSync(layout.home);
  if (owner.uid !== 0) chownSync(path, owner.uid, owner.gid);
}

/** Makes a password of 256 random bits in a file of mode 0600, unless the file exists. */
export function keepPassword(layout: Layout, path: string): void {
  if (!existsSync(path)) writePrivateFile(layout, path, `${randomBytes(32).toString('base64url')}\n`);
}

/** @throws RefusedError when the file is missing or can't be read */
export function readPassword(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    throw new RefusedError(`${path} is missing or unreadable: bring it back from a backup of DATA_DIR`);
  }
}

/** Turns a failed file operation below DATA_DIR into one line that says what to do; other errors pass as they are. */
export function explainFileError(error: unknown, dataDir: string): Error {
  const code = codeOf(error);
  switch (code) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new Error(
        `DATA_DIR ${dataDir} can't be written (${code}): let this user own it, or set DATA_DIR to a directory that it owns`,
      );
    case 'ENOSPC':
    case 'EDQUOT':
      return diskFull(dataDir);
    case 'ENOTDIR':
    case 'EEXIST':
      return new Error(
        `DATA_DIR ${dataDir} is not a directory: remove that file or set DATA_DIR to another path`,
      );
    default:
      return error instanceof Error ? error : new Error(String(error));
  }
}

function diskFull(dataDir: string): Error {
  return new Error(`the disk that holds DATA_DIR ${dataDir} is full: free some space and try again`);
}

/** The error of a program of Postgres that has failed. @param output its own lines, which have the reason */
export function explainProgram(layout: Layout, what: string, output: string): Error {
  if (/No space left on device|Disk quota exceeded/.test(output)) return diskFull(layout.dataDir);
  if (/error while loading shared libraries|Library not loaded/.test(output)) {
    return new Error(
      'the embedded Postgres is not completely installed (its install script has not run): ' +
        'remove node_modules and run `bun install`, or set DATABASE_URL',
    );
  }
  const [, uid] = /could not look up effective user ID (\d+)/.exec(output) ?? [];
  if (uid !== undefined) {
    return new Error(
      `Postgres needs a user with a name, and the one with ID ${uid} has none: add it to /etc/passwd, ` +
        'use another user, or set DATABASE_URL',
    );
  }
  if (claimsCluster(output)) {
    return new Error(
      `another Postgres that runs claims ${layout.cluster}: end that Postgres; if this DATA_DIR was copied while the ` +
        'original ran, stop the original and copy it again',
    );
  }
  const reason = /(?:error|FATAL|PANIC): +(.*)/.exec(output)?.[1] ?? output.trim().split('\n').at(-1);
  return new Error(`${what}: ${reason?.trim() || 'it gave no reason'}`);
}

/** Whether Postgres did not start because the process in `postmaster.pid` is alive. @param output of Postgres */
export const claimsCluster = (output: string) => output.includes('lock file "postmaster.pid" already exists');

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
