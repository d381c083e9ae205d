/** The file of `--rejects`: what didn't go in, and why, as CSV `line,reason,row` (contract, "Files"). */
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { KIB } from '../units.ts';
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

/**
 * Opens a file for rejects. It is written under another name beside its place and renamed by `finish`, so nobody sees
 * half of it. A device or a pipe (`/dev/stderr`, `/dev/null`) is written to as it is.
 *
 * @param readFrom the file that is being read, which must not be overwritten
 * @throws {FileError} a directory, no permission, no such folder, or the file that is being read
 */
export async function openRejects(path: string, readFrom?: string): Promise<RejectsWriter> {
  const target = await targetOf(path, readFrom);
  const writtenTo = target.isSpecial
    ? target.path
    : join(dirname(target.path), `.${basename(target.path).slice(0, 100)}.${randomUUID().slice(0, 8)}.tmp`);
  const failure = (error: unknown) => writeError(path, error);

  let handle: FileHandle;
  try {
    handle = await open(writtenTo, target.isSpecial ? 'w' : 'wx');
  } catch (error) {
    throw failure(error);
  }
  let isOpen = true;
  let pending = 'line,reason,row\n';

  async function flush(): Promise<void> {
    const text = pending;
    pending = '';
    try {
      await handle.writeFile(text);
    } catch (error) {
      throw failure(error);
    }
  }

  async function discard(): Promise<void> {
    if (!isOpen) return;
    isOpen = false;
    await handle.close();
    if (!target.isSpecial) await rm(writtenTo, { force: true });
  }

  return {
    async write(rejected) {
      for (const { line, reason, raw } of rejected) {
        pending += `${line},${cell(reason)},${cell(raw)}\n`;
        if (pending.length >= FLUSH_AT_CHARACTERS) await flush();
      }
    },
    async finish() {
      try {
        await flush();
        if (!target.isSpecial) {
          await handle.sync();
          await rename(writtenTo, target.path);
        }
      } catch (error) {
        await discard();
        throw error instanceof FileError ? error : failure(error);
      }
      isOpen = false;
      await handle.close();
    },
    discard,
  };
}

async function targetOf(path: string, readFrom?: string): Promise<{ path: string; isSpecial: boolean }> {
  const there = await stat(path).catch(() => null);
  if (there === null) return { path: resolve(path), isSpecial: false };
  if (there.isDirectory()) throw new FileError(`${path}: is a directory, not a file`);
  if (!there.isFile()) return { path, isSpecial: true };
  const source = readFrom === undefined ? null : await stat(readFrom).catch(() => null);
  if (source !== null && source.ino === there.ino && source.dev === there.dev) {
    throw new FileError(`${path}: is the file that is read: write the rejects to another`);
  }
  // Through a link to what it names, so that the link stays.
  return { path: await realpath(path), isSpecial: false };
}

/**
 * A quoted CSV field that neither a spreadsheet nor a terminal obeys: control characters and line breaks become
 * spaces, as do marks that reverse text; what a spreadsheet would take for a formula gets an apostrophe in front, also
 * behind a semicolon or bar, where a spreadsheet that separates by those begins a cell whatever the quotes say.
 */
function cell(text: string): string {
  const plain = text
    .slice(0, MAX_RAW_CHARACTERS)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu, ' ')
    .replace(/^(?=\s*[=+\-@＝＋－＠])/u, "'")
    .replace(/([;|]["'\s]*)(?=[=@＝＋－＠]|[+-](?!\d+(?:[.,]\d+)?(?:["\s]*[;|]|["\s]*$)))/gu, "$1'");
  const guarded = /^[\t\r]/.test(text) && !plain.startsWith("'") ? `'${plain}` : plain;
  return `"${guarded.replaceAll('"', '""')}"`;
}
