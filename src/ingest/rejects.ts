/** The file of `--rejects`: what didn't go in, and why, as CSV `line,reason,row` (contract, "Files"). */
import { randomUUID } from 'node:crypto';
import { write } from 'node:fs';
import { open, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { codeOf } from '../errors.ts';
import { KIB } from '../units.ts';
import { csvCell } from './cell.ts';
import { FileError, writeError } from './file-error.ts';
import { MAX_RAW_CHARACTERS, type RejectedRow } from './rows.ts';

export interface RejectsWriter {
  /**
   * Adds rows, in the order given. The promise keeps the pace of the disk: wait for it.
   * @throws {FileError} the disk is full, …
   */
  write(rejected: Iterable<RejectedRow>): Promise<void>;
  /** Puts the whole file in its place, where there was one before too; without rejects it holds the header alone. */
  finish(): Promise<void>;
  /** Leaves no trace. Does nothing after `finish`. */
  discard(): Promise<void>;
}

const FLUSH_AT_CHARACTERS = 64 * KIB;
/** A pipe that doesn't wait for its reader is tried again after this long. */
const FULL_PIPE_PAUSE_MS = 5;
/** A file of rejects has NIFs and names of natural persons. One that replaces a stricter file is as strict. */
const OWNER_ALONE = 0o600;
/** The kernel's own bound on links that lead to links. */
const MAX_LINKS = 40;

/**
 * Opens a file for rejects. It is written under another name beside its place and renamed by `finish`, so nobody sees
 * half of it. A device or a pipe (`/dev/null`) is written to as it is, and so is a descriptor of this process
 * (`/dev/stderr`), whatever it leads to: a log file that others write to as well is neither emptied nor replaced.
 *
 * @param readFrom the file that is being read, which must not be overwritten
 * @throws {FileError} a directory, no permission, no such folder, or the file that is being read
 */
export async function openRejects(path: string, readFrom?: string): Promise<RejectsWriter> {
  const failure = (error: unknown) => writeError(path, error);
  let output: Output;
  try {
    output = await openOutput(path, readFrom);
  } catch (error) {
    throw error instanceof FileError ? error : failure(error);
  }
  let isOpen = true;
  let pending = 'line,reason,row\n';

  async function flush(): Promise<void> {
    const text = pending;
    pending = '';
    try {
      await output.write(text);
    } catch (error) {
      throw failure(error);
    }
  }

  async function discard(): Promise<void> {
    if (!isOpen) return;
    isOpen = false;
    await output.discard();
  }

  return {
    async write(rejected) {
      for (const { line, reason, raw } of rejected) {
        pending += `${line},${csvCell(reason)},${csvCell(raw.slice(0, MAX_RAW_CHARACTERS))}\n`;
        if (pending.length >= FLUSH_AT_CHARACTERS) await flush();
      }
    },
    async finish() {
      try {
        await flush();
        await output.finish();
      } catch (error) {
        await discard();
        throw error instanceof FileError ? error : failure(error);
      }
      isOpen = false;
    },
    discard,
  };
}

/** Where the text goes; ended by `finish` or `discard`. */
interface Output {
  write(text: string): Promise<void>;
  finish(): Promise<void>;
  /** Also after a `finish` that failed. */
  discard(): Promise<void>;
}

async function openOutput(path: string, readFrom?: string): Promise<Output> {
  const there = await stat(path).catch(() => null);
  if (there?.isDirectory()) throw new FileError(`${path}: is a directory, not a file`);
  if (there?.isFile()) {
    const source = readFrom === undefined ? null : await stat(readFrom).catch(() => null);
    if (source !== null && source.ino === there.ino && source.dev === there.dev) {
      throw new FileError(`${path}: is the file that is read: write the rejects to another`);
    }
  }
  const descriptor = await descriptorOf(path);
  if (descriptor !== null) {
    if (there === null) throw new FileError(`${path}: is not open`);
    return throughDescriptor(descriptor);
  }
  if (there !== null && !there.isFile()) return asItIs(path);
  // Through a link to what it names, so that the link stays.
  return there === null
    ? inItsPlace(resolve(path), OWNER_ALONE)
    : inItsPlace(await realpath(path), OWNER_ALONE & there.mode);
}

/** @param mode of the new file, whatever the umask */
async function inItsPlace(path: string, mode: number): Promise<Output> {
  const unfinished = join(dirname(path), `.${basename(path).slice(0, 100)}.${randomUUID().slice(0, 8)}.tmp`);
  const handle = await open(unfinished, 'wx', OWNER_ALONE);
  await handle.chmod(mode);
  return {
    write: (text) => handle.writeFile(text),
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

async function asItIs(path: string): Promise<Output> {
  const handle = await open(path, 'w');
  const close = () => handle.close();
  return { write: (text) => handle.writeFile(text), finish: close, discard: close };
}

/** The descriptor stays open: the process goes on with it. */
function throughDescriptor(descriptor: number): Output {
  const nothing = async () => {};
  return {
    async write(text) {
      let bytes = Buffer.from(text);
      while (bytes.length > 0) bytes = bytes.subarray(await writeSome(descriptor, bytes));
    },
    finish: nothing,
    discard: nothing,
  };
}

const writeOnce = promisify(write);

/** Writes where the descriptor stands. @returns how many bytes went */
async function writeSome(descriptor: number, bytes: Buffer): Promise<number> {
  try {
    return (await writeOnce(descriptor, bytes)).bytesWritten;
  } catch (error) {
    if (codeOf(error) !== 'EAGAIN') throw error;
    await Bun.sleep(FULL_PIPE_PAUSE_MS);
    return 0;
  }
}

/**
 * The descriptor of this process that a path stands for, itself or through links (`/dev/stderr`, `/dev/fd/3`,
 * `/proc/self/fd/3`); `null` means none. Opening the path again would start at the beginning of the file.
 */
async function descriptorOf(path: string): Promise<number | null> {
  const descriptors = ['/dev/fd', await realpath('/proc/self/fd').catch(() => null)];
  let at = path;
  for (let links = 0; links < MAX_LINKS; links++) {
    const folder = await realpath(dirname(at)).catch(() => null);
    if (folder === null) return null;
    const name = basename(at);
    if (descriptors.includes(folder) && /^\d{1,9}$/.test(name)) return Number(name);
    const target = await readlink(join(folder, name)).catch(() => null);
    if (target === null) return null;
    at = resolve(folder, target);
  }
  return null;
}
