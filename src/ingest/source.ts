/** Reads a file or standard input of any length in constant memory, and decompresses gzip. */
import { createReadStream } from 'node:fs';
import { access, constants, stat } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import type { ReadableStreamDefaultReader } from 'node:stream/web';
import { createGunzip } from 'node:zlib';
import { codeOf } from '../errors.ts';
import { KIB } from '../units.ts';
import { FileError, fileSystemError } from './file-error.ts';

export type RowSource = { path: string } | { stdin: ReadableStream<Uint8Array> };

/** The source that the command line names: a path, or `-` for standard input. */
export function rowSource(file: string): RowSource {
  return file === '-' ? { stdin: Bun.stdin.stream() } : { path: file };
}

/**
 * Checks access without reading, so that it works for a pipe, too.
 * @throws {FileError} the file is missing or may not be read
 */
export async function requireReadable(source: RowSource): Promise<void> {
  if (!('path' in source)) return;
  await access(source.path, constants.R_OK).catch((error) => {
    throw fileSystemError(source.path, error);
  });
}

/** The progress of reading, in bytes of the file on disk (compressed, for gzip). It changes while reading. */
export interface Progress {
  readonly bytesRead: number;
  /** `null` means that it is not known, as on a pipe. */
  readonly bytesTotal: number | null;
}

export interface ByteSource {
  /** For messages: the path, or `standard input`. */
  readonly name: string;
  /** Standard input, or a named pipe, which has no length. */
  readonly isPipe: boolean;
  readonly isEmpty: boolean;
  readonly isGzip: boolean;
  readonly progress: Progress;
  /**
   * Writes bytes into `target` from `at` on and returns their number; 0 at the end.
   * @throws {FileError} the file can't be read, or is damaged gzip
   */
  read(target: Buffer, at: number): Promise<number>;
  /** Closes the file, also in the middle. */
  close(): Promise<void>;
}

const CHUNK_BYTES = 256 * KIB;

/**
 * Opens a source and reads its first bytes.
 * @throws {FileError} missing, a directory, not readable
 */
export async function openSource(source: RowSource, signal?: AbortSignal): Promise<ByteSource> {
  const input = 'path' in source ? await openFile(source.path) : openStream(source.stdin);
  const progress = { bytesRead: 0, bytesTotal: input.bytesTotal };
  const onAbort = () => void input.close();
  signal?.addEventListener('abort', onAbort, { once: true });

  const close = async () => {
    signal?.removeEventListener('abort', onAbort);
    // Close first, because `return` queues behind a read in flight.
    await input.close();
    await chunks.return?.();
  };
  const failure = (error: unknown) => {
    if (signal?.aborted) return signal.reason;
    return error instanceof FileError ? error : sourceError(input.name, error);
  };

  const packed = counted(input.chunks, progress);
  let chunks: AsyncIterator<Uint8Array> = packed;
  let rest: Uint8Array;
  try {
    signal?.throwIfAborted();
    rest = await firstBytes(packed);
  } catch (error) {
    await close();
    throw failure(error);
  }
  const isEmpty = rest.length === 0;
  const isGzip = rest[0] === 0x1f && rest[1] === 0x8b;
  if (isGzip) {
    chunks = unpacked(rest, packed);
    rest = new Uint8Array(0);
  }

  return {
    name: input.name,
    isPipe: input.bytesTotal === null,
    isEmpty,
    isGzip,
    progress,
    async read(target, at) {
      try {
        while (rest.length === 0) {
          const next = await chunks.next();
          signal?.throwIfAborted();
          if (next.done) return 0;
          rest = next.value;
        }
      } catch (error) {
        throw failure(error);
      }
      const length = Math.min(rest.length, target.length - at);
      target.set(length === rest.length ? rest : rest.subarray(0, length), at);
      rest = rest.subarray(length);
      return length;
    },
    close,
  };
}

interface Input {
  name: string;
  bytesTotal: number | null;
  chunks: AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

async function openFile(path: string): Promise<Input> {
  const found = await stat(path).catch((error) => {
    throw fileSystemError(path, error);
  });
  const stream = createReadStream(path, { highWaterMark: CHUNK_BYTES });
  // A reader gets the error from `chunks`. Without a listener, it would end the process if it came after `close`.
  stream.on('error', () => {});
  const close = async () => void stream.destroy();
  return { name: path, bytesTotal: found.isFile() ? found.size : null, chunks: stream, close };
}

function openStream(stream: ReadableStream<Uint8Array>): Input {
  let reader: ReadableStreamDefaultReader<Uint8Array>;
  try {
    reader = stream.getReader();
  } catch (error) {
    throw fileSystemError('standard input', error); // for example a directory
  }
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      yield value;
    }
  }
  // Cancelling also ends a read that waits for a writer. A failed stream rejects it.
  const close = () => reader.cancel().catch(() => {});
  return { name: 'standard input', bytesTotal: null, chunks: chunks(), close };
}

async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  progress: { bytesRead: number },
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    progress.bytesRead += chunk.length;
    yield chunk;
  }
}

/** The first bytes, at least two unless there are fewer, to recognize gzip. */
async function firstBytes(chunks: AsyncIterator<Uint8Array>): Promise<Uint8Array> {
  let first: Uint8Array = new Uint8Array(0);
  while (first.length < 2) {
    const next = await chunks.next();
    if (next.done) break;
    first = first.length === 0 ? next.value : Buffer.concat([first, next.value]);
  }
  return first;
}

/** Decompresses gzip of any ratio on demand, so that memory stays constant. */
function unpacked(first: Uint8Array, more: AsyncGenerator<Uint8Array>): AsyncIterator<Uint8Array> {
  async function* all() {
    yield first;
    yield* more;
  }
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  // With a callback a failure reaches the iterator of `gunzip` only.
  pipeline(Readable.from(all(), { objectMode: true, highWaterMark: 1 }), gunzip, () => {});
  return gunzip[Symbol.asyncIterator]();
}

function sourceError(name: string, error: unknown): FileError {
  const code = codeOf(error) ?? '';
  if (code === 'Z_BUF_ERROR') {
    return new FileError(`${name}: the gzip data ends in the middle: it was cut off`, { cause: error });
  }
  if (code.startsWith('Z_')) return new FileError(`${name}: the gzip data is damaged`, { cause: error });
  return fileSystemError(name, error);
}
