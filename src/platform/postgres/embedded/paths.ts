import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { messageOf } from '../../errors.ts';
import { explainFileError } from './embedded-errors.ts';

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
    /** The socket's folder and the PID namespace of the last start. */
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

/** Whether anything has the name of Postgres's data directory, also if it can't be entered. @throws if that can't be told */
export const hasCluster = ({ cluster }: Layout) =>
  lstatSync(cluster, { throwIfNoEntry: false }) !== undefined;

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
