/** The file of `--rejects`: the rows that were not imported, and why, as CSV `line,reason,row` (contract, Files). */
import { randomUUID } from 'node:crypto';
import { write } from 'node:fs';
import { open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { codeOf } from '../errors.ts';
import { KIB } from '../units.ts';
import { csvCell } from './cell.ts';
import { FileError, writeError } from './file-error.ts';
import { MAX_RAW_CHARACTERS, type RejectedRow } from './rows.ts';

export interface RejectsWriter {
  /**
   * Adds rows, in the order given. Wait for the promise, so that memory stays flat.
   * @throws {FileError} the disk is full, …
   */
  write(rejected: Iterable<RejectedRow>): Promise<void>;
  /** Moves the whole file into its place, over the one before. Without rejects it holds the header alone. */
  finish(): Promise<void>;
  /** Leaves no trace. Does nothing after `finish`. */
  discard(): Promise<void>;
}

const FLUSH_AT_CHARACTERS = 64 * KIB;
/** A full pipe that does not block is tried again after this long. */
const FULL_PIPE_PAUSE_MS = 5;
/** A file of rejects has NIFs and names of natural persons. One that replaces a stricter file is as strict. */
const OWNER_ALONE = 0o600;

/**
 * Opens a file for rejects. It is written under another name in the same folder and renamed by `finish`, so that nobody sees
 * half of it. A device or a pipe (`/dev/null`) is written to directly. So is a descriptor of this process (`/dev/stderr`,
 * `/dev/fd/3`): a log file behind it is neither emptied nor replaced.
 *
 * @param readFrom the file that is being read, which must not be overwritten
 * @throws {FileError} a directory, no permission, no such folder, or the file that is being read
 */
export async function openRejects(path: string, readFrom?: string): Promise<RejectsWriter> {
  const orFileError = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw error instanceof FileError ? error : writeError(path, error);
    }
  };
  const target = await orFileError(() => openTarget(path, readFrom));
  let isOpen = true;
  let pending = 'line,reason,row\n';

  async function flush(): Promise<void> {
    let bytes = Buffer.from(pending);
    pending = '';
    while (bytes.length > 0) bytes = bytes.subarray(await writeSome(target.descriptor, bytes));
  }
  async function discard(): Promise<void> {
    if (!isOpen) return;
    isOpen = false;
    await target.discard();
  }
  return {
    write: (rejected) =>
      orFileError(async () => {
        for (const { line, reason, raw } of rejected) {
          pending += `${line},${csvCell(reason)},${csvCell(raw.slice(0, MAX_RAW_CHARACTERS))}\n`;
          if (pending.length >= FLUSH_AT_CHARACTERS) await flush();
        }
      }),
    finish: () =>
      orFileError(async () => {
        try {
          await flush();
          await target.finish();
        } catch (error) {
          await discard();
          throw error;
        }
        isOpen = false;
      }),
    discard,
  };
}

/** Where the text goes; ended by `finish` or `discard`. */
interface Target {
  descriptor: number;
  finish(): Promise<void>;
  /** Also after a `finish` that failed. */
  discard(): Promise<void>;
}

async function openTarget(path: string, readFrom?: string): Promise<Target> {
  const there = await stat(path).catch(() => null);
  if (there?.isDirectory()) throw new FileError(`${path}: is a directory, not a file`);
  const source = readFrom === undefined ? null : await stat(readFrom).catch(() => null);
  if (there?.isFile() && source?.ino === there.ino && source.dev === there.dev) {
    throw new FileError(`${path}: is the file that is read: write the rejects to another`);
  }
  const descriptor = descriptorOf(path);
  if (descriptor !== null) {
    if (there === null) throw new FileError(`${path}: is not open`);
    // It stays open, because the process goes on with it.
    const nothing = async () => {};
    return { descriptor, finish: nothing, discard: nothing };
  }
  if (there !== null && !there.isFile()) {
    const handle = await open(path, 'w');
    const close = () => handle.close();
    return { descriptor: handle.fd, finish: close, discard: close };
  }
  // Through a link to what it names, so that the link stays.
  return there === null
    ? besideItsPlace(resolve(path), OWNER_ALONE)
    : besideItsPlace(await realpath(path), OWNER_ALONE & there.mode);
}

/** @param mode of the new file, whatever the umask */
async function besideItsPlace(path: string, mode: number): Promise<Target> {
  const unfinished = join(dirname(path), `.${basename(path).slice(0, 100)}.${randomUUID().slice(0, 8)}.tmp`);
  const handle = await open(unfinished, 'wx', OWNER_ALONE);
  await handle.chmod(mode);
  return {
    descriptor: handle.fd,
    async finish() {
      await handle.sync();
      await rename(unfinished, path);
      await handle.close();
    },
    async discard() {
      await handle.close();
      await rm(unfinished, { force: true });
    },
  };
}

const STANDARD: Record<string, number> = { '/dev/stdout': 1, '/dev/stderr': 2 };

/** The descriptor of this process that a path names, or `null`. Opening the path again would write from the file's beginning. */
function descriptorOf(path: string): number | null {
  const number = /^\/(?:dev|proc\/self)\/fd\/(\d{1,9})$/.exec(path)?.[1];
  return STANDARD[path] ?? (number === undefined ? null : Number(number));
}

const writeOnce = promisify(write);

/** Writes at the descriptor's position. @returns how many bytes were written */
async function writeSome(descriptor: number, bytes: Buffer): Promise<number> {
  try {
    return (await writeOnce(descriptor, bytes)).bytesWritten;
  } catch (error) {
    if (codeOf(error) !== 'EAGAIN') throw error;
    await Bun.sleep(FULL_PIPE_PAUSE_MS);
    return 0;
  }
}
