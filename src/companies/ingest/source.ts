/** Reads a file or standard input of any length in constant memory, and decompresses gzip. */
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { codeOf } from '../../platform/errors.ts';
import { orAborted } from '../../platform/runtime/or-aborted.ts';
import { FileError, fileSystemError } from '../../platform/terminal/file-error.ts';
import { KIB } from '../../platform/units.ts';
import type { FileDigest } from '../file-digest.ts';

export type RowSource = { path: string } | { stdin: ReadableStream<Uint8Array> };

/** The source that the command line names: a path, or `-` for standard input. */
export function rowSource(file: string): RowSource {
  return file === '-' ? { stdin: Bun.stdin.stream() } : { path: file };
}

export type ByteSource = Awaited<ReturnType<typeof openSource>>;

const CHUNK_BYTES = 256 * KIB;

/**
 * Opens a source and reads its first bytes.
 * @throws {FileError} missing, a directory, not readable
 */
export async function openSource(source: RowSource, signal: AbortSignal = new AbortController().signal) {
  const name = 'path' in source ? source.path : 'standard input';
  const failure = (error: unknown) => {
    if (signal.aborted) return signal.reason;
    return error instanceof FileError ? error : sourceError(name, error);
  };
  const { stream, bytesTotal } = await openStream(source).catch((error) => Promise.reject(failure(error)));
  // A reader gets the error from `chunks`. Without a listener, it would end the process if it came after `close`.
  stream.on('error', () => {});
  const progress = { bytesRead: 0, bytesTotal };

  const hash = createHash('sha256');
  const packed = counted(stream, progress, hash);
  let chunks: AsyncIterator<Uint8Array> = packed;
  const close = async () => {
    // Close first, because `return` queues behind a read in flight.
    stream.destroy();
    const closing = chunks.return?.();
    // A named pipe without a writer can't even be closed: its `open` waits for one.
    if (!signal.aborted) await closing;
  };
  let rest: Uint8Array;
  try {
    signal.throwIfAborted();
    rest = await orAborted(firstBytes(packed), signal);
  } catch (error) {
    await close();
    throw failure(error);
  }
  if (rest[0] === 0x1f && rest[1] === 0x8b) {
    chunks = unpacked(rest, packed);
    rest = new Uint8Array(0);
  }

  return {
    /** For messages: the path, or `standard input`. */
    name,
    /** In bytes of the file on disk (compressed, for gzip). It changes while reading; `bytesTotal` of a pipe is `null`. */
    progress,
    /**
     * Writes bytes into `target` from `at` on and returns their number; 0 at the end.
     * @throws {FileError} the file can't be read, or is damaged gzip
     */
    async read(target: Buffer, at: number): Promise<number> {
      try {
        while (rest.length === 0) {
          const next = await orAborted(chunks.next(), signal);
          if (next.done) return 0;
          rest = next.value;
        }
      } catch (error) {
        throw failure(error);
      }
      const length = Math.min(rest.length, target.length - at);
      target.set(rest.subarray(0, length), at);
      rest = rest.subarray(length);
      return length;
    },
    /** Once, when `read` has found the end. */
    digest: (): FileDigest => ({ sha256: hash.digest('hex'), bytes: progress.bytesRead }),
    /** Closes the file, also in the middle. */
    close,
  };
}

async function openStream(source: RowSource): Promise<{ stream: Readable; bytesTotal: number | null }> {
  if ('stdin' in source) return { stream: Readable.fromWeb(source.stdin), bytesTotal: null };
  const { path } = source;
  const found = await stat(path);
  if (found.isFile()) return { stream: Readable.from(unchanged(path)), bytesTotal: found.size };
  return { stream: createReadStream(path, { highWaterMark: CHUNK_BYTES }), bytesTotal: null };
}

/** @throws FileError at the end of a file that was written meanwhile, which changes its `ctime`: its parts may not belong together */
async function* unchanged(path: string): AsyncGenerator<Uint8Array> {
  const handle = await open(path);
  const state = async () => {
    const { size, ctimeNs } = await handle.stat({ bigint: true });
    return [size, ctimeNs].join();
  };
  try {
    const before = await state();
    for (;;) {
      const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafeSlow(CHUNK_BYTES), 0, CHUNK_BYTES);
      if (bytesRead === 0) break;
      yield buffer.subarray(0, bytesRead);
    }
    if ((await state()) !== before)
      throw new FileError(
        `${path}: changed while it was read: write it under another name, and rename it when it is whole`,
      );
  } finally {
    await handle.close();
  }
}

async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  progress: { bytesRead: number },
  hash: Hash,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    progress.bytesRead += chunk.length;
    hash.update(chunk);
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
