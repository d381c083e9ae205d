import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { codeOf, messageOf } from '../../errors.ts';

/** Where everything of one embedded Postgres lies; all of it below `home`, which its owner alone can enter. */
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
  /** The port and PID namespace of the last start, see {@link file://./start.ts}. */
  endpoint: string;
  /** Locked exclusively while somebody starts, joins or stops. */
  mutex: string;
  /** The PID that holds the mutex: for error messages only, never relied on. */
  mutexHolder: string;
  /** Locked shared by every process that uses this Postgres, for as long as it does. */
  users: string;
  log: string;
}

/**
 * Makes DATA_DIR and its `postgres` folder (mode 0700) and tells where everything in it lies.
 * An existing DATA_DIR keeps its mode unless it is empty, because it may be anybody's folder.
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
    // A file system without folders of ours (/proc), a name too long, …
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
    users: at('users.lock'),
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

/** What root writes in the folder of an ordinary user must stay usable for that user's next command. */
export function giveToOwner(layout: Layout, path: string): void {
  if (process.getuid?.() !== 0) return;
  const owner = statSync(layout.home);
  if (owner.uid !== 0) chownSync(path, owner.uid, owner.gid);
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
