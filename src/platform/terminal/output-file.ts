import { randomUUID } from 'node:crypto';
import { type FileHandle, open, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { EXCLUSIVE, tryFlock } from '../runtime/flock.ts';
import { orAborted } from '../runtime/or-aborted.ts';
import { FileError, writeError } from './file-error.ts';

/** Such files have NIFs and names of natural persons. A file that replaces a stricter one is as strict. */
const OWNER_ALONE = 0o600;

/**
 * Opens a file to write. It is written under another name in the same folder and renamed by `finish`, so that nobody sees half
 * of it. A device, a pipe, and the file behind `/dev/stderr` or `/dev/fd/3` are appended to.
 *
 * @param signal ends the wait for a pipe, with its reason
 * @param readFrom the file that is being read, which must not be overwritten
 * @throws {FileError} a directory, no permission, no such folder, or the file that is being read
 */
export async function openOutputFile(path: string, signal: AbortSignal, readFrom?: string) {
  /** The error of work on the file is one line that names it. */
  const named = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error) => {
      const isPlain = error instanceof FileError || (signal.aborted && error === signal.reason);
      throw isPlain ? error : writeError(path, error);
    });
  const target = await named(openTarget(path, signal, readFrom));
  return {
    /** @throws {FileError} the disk is full, … */
    append: (part: string | Uint8Array): Promise<void> =>
      named(orAborted(target.handle.appendFile(part), signal)),
    /** Moves the whole file into its place, over the one before. */
    async finish(): Promise<void> {
      if (target.unfinished === null) return;
      await named(target.handle.sync());
      await named(rename(target.unfinished, target.path));
    },
    /** Closes the file, and removes one that is not finished. */
    async close(): Promise<void> {
      const closing = target.handle.close();
      // A pipe closes behind a write that its reader lets wait.
      if (target.unfinished !== null || !signal.aborted) await closing;
      if (target.unfinished !== null) await rm(target.unfinished, { force: true });
    },
  };
}

/** An open file; `unfinished` is its name until it replaces `path`, or `null` if it is written in place. */
interface Target {
  handle: FileHandle;
  path: string;
  unfinished: string | null;
}

async function openTarget(given: string, signal: AbortSignal, readFrom?: string): Promise<Target> {
  const there = await stat(given).catch(() => null);
  if (there?.isDirectory()) throw new FileError(`${given}: is a directory, not a file`);
  const source = readFrom === undefined ? null : await stat(readFrom).catch(() => null);
  if (there?.isFile() && source?.ino === there.ino && source.dev === there.dev) {
    throw new FileError(`${given}: is the file that is read: write to another`);
  }
  const isDescriptor = /^\/(dev\/(stdout|stderr|fd\/)|proc\/)/.test(given);
  if (isDescriptor && there === null) throw new FileError(`${given}: is not open`);
  if (isDescriptor || there?.isFile() === false)
    return { handle: await orAborted(open(given, 'a'), signal), path: given, unfinished: null };
  // Through a link to its target, so that the link stays.
  const path = there === null ? resolve(given) : await realpath(given);
  await removeLeftovers(path);
  const { handle, unfinished } = await openUnfinished(path);
  // Whatever the umask.
  await handle.chmod(there === null ? OWNER_ALONE : OWNER_ALONE & there.mode);
  return { handle, path, unfinished };
}

/** The names of the unfinished files of `path`, around 8 hexadecimal digits. */
const affixesOf = (path: string) => [`.${basename(path).slice(0, 100)}.`, '.tmp'] as const;

/** Makes the unfinished file. Its lock shows that its command runs. */
async function openUnfinished(path: string): Promise<{ handle: FileHandle; unfinished: string }> {
  for (;;) {
    const unfinished = join(dirname(path), affixesOf(path).join(randomUUID().slice(0, 8)));
    const handle = await open(unfinished, 'wx', OWNER_ALONE);
    // Before it was locked, another command may have taken it for a leftover.
    if (lock(handle) !== false && (await handle.stat()).nlink > 0) return { handle, unfinished };
    await handle.close();
  }
}

/** Removes the unfinished files of commands that were killed. A file that can't be removed stays. */
async function removeLeftovers(path: string): Promise<void> {
  const [before, after] = affixesOf(path);
  const names = await readdir(dirname(path)).catch(() => []);
  for (const name of names) {
    if (!name.startsWith(before) || !name.endsWith(after)) continue;
    if (!/^[0-9a-f]{8}$/.test(name.slice(before.length, -after.length))) continue;
    const leftover = join(dirname(path), name);
    const handle = await open(leftover).catch(() => null);
    if (handle === null) continue;
    if (lock(handle) === true) await rm(leftover, { force: true }).catch(() => {});
    await handle.close();
  }
}

/** @returns whether the lock is ours; `null` means that this system has no locks */
function lock({ fd }: FileHandle): boolean | null {
  try {
    return tryFlock(fd, EXCLUSIVE);
  } catch {
    return null;
  }
}
