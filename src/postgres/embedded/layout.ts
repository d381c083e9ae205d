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
  statSync,
  writeSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { codeOf, messageOf, RefusedError } from '../../errors.ts';

/** The files of one embedded Postgres, all below `home`, which only its owner can enter. */
export interface Layout {
  /** DATA_DIR itself, absolute. */
  dataDir: string;
  /** `DATA_DIR/postgres`, without symbolic links. */
  home: string;
  /** Postgres's own data directory; it appears complete, by one rename, or not at all. */
  cluster: string;
  /** The password of the superuser `postgres`, made once. */
  password: string;
  /** The password of the service's role, made once. */
  servicePassword: string;
  /** The port and PID namespace of the last start. */
  endpoint: string;
  /** Locked exclusively while a process starts, joins or stops Postgres. */
  mutex: string;
  /** The PID that holds the mutex, for error messages only. */
  mutexHolder: string;
  /** Locked shared by every process that uses this Postgres, while it does. */
  participants: string;
  log: string;
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

function layoutAt(dataDir: string, home: string): Layout {
  const at = (name: string) => join(home, name);
  return {
    dataDir,
    home,
    cluster: at('cluster'),
    password: at('password'),
    servicePassword: at('service-password'),
    endpoint: at('endpoint.json'),
    mutex: at('mutex.lock'),
    mutexHolder: at('mutex.pid'),
    participants: at('users.lock'),
    log: at('postgres.log'),
  };
}

function tightenIfOurs(directory: string): void {
  try {
    chmodSync(directory, 0o700);
  } catch {
    // A mounted volume of another owner: `postgres` below it is closed anyway.
  }
}

/** Replaces a file of mode 0600 in one step, on disk before this returns. */
export function writePrivateFile(layout: Layout, path: string, content: string): void {
  const unfinished = `${path}.${process.pid}.new`;
  const fd = openSync(unfinished, 'w', 0o600);
  try {
    writeSync(fd, content);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
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
    case 'SQLITE_CANTOPEN':
    case 'SQLITE_READONLY':
    case 'SQLITE_PERM':
      return new Error(
        `DATA_DIR ${dataDir} can't be written (${code}): let this user own it, or set DATA_DIR to a directory that it owns`,
      );
    case 'ENOSPC':
    case 'EDQUOT':
    case 'SQLITE_FULL':
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

export function diskFull(dataDir: string): Error {
  return new Error(`the disk that holds DATA_DIR ${dataDir} is full: free some space and try again`);
}
