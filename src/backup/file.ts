/**
 * The file of a backup, so that `zstdcat` shows all of it to a person:
 *
 *     {"format":"company-directory backup 1", …}     the header, on one line
 *     accounts 5123                                  a block: its table, and how many bytes follow
 *     …                                              rows in COPY's text format
 *     end {"sha256":"…"}                             of all bytes before this line
 *
 * A table can have several blocks, one behind the other, or none.
 */
import { pipeline } from 'node:stream';
import { createZstdDecompress } from 'node:zlib';
import { codeOf } from '../platform/errors.ts';
import { FileError } from '../platform/terminal/file-error.ts';
import { MIB } from '../platform/units.ts';
import type { Sequence, Table } from './catalogue.ts';

const FORMAT = 'company-directory backup 1';

export interface Header {
  /** The version of the service that wrote it. */
  version: string;
  /** The SHA-256 of each migration of that version, by its name. */
  migrations: Record<string, string>;
  /** The instant of the copy, RFC 3339. */
  at: string;
  tables: Table[];
  sequences: Sequence[];
}

/** Whole rows of a table, in COPY's text format. */
export interface Block {
  table: string;
  rows: Buffer;
}

/** The bytes of the file, before they are packed. */
export async function* encode(header: Header, blocks: AsyncIterable<Block>): AsyncGenerator<Buffer> {
  const hasher = new Bun.CryptoHasher('sha256');
  const hashed = (bytes: Buffer) => {
    hasher.update(bytes);
    return bytes;
  };
  yield hashed(Buffer.from(`${JSON.stringify({ format: FORMAT, ...header })}\n`));
  for await (const { table, rows } of blocks) {
    yield hashed(Buffer.from(`${table} ${rows.length}\n`));
    yield hashed(rows);
  }
  yield Buffer.from(`end ${JSON.stringify({ sha256: hasher.digest('hex') })}\n`);
}

/** The bound of a line and of a block, because a damaged file must not fill the memory. */
const MOST_BYTES = 64 * MIB;

export type BackupReader = Awaited<ReturnType<typeof decode>>;

/**
 * Reads a file as far as its header.
 *
 * @param packed the bytes of the file
 * @param name for messages: the path, or `standard input`
 * @throws {FileError} it is no backup, or damaged
 */
export async function decode(packed: AsyncIterable<Uint8Array>, name: string) {
  const input = createInput(unpacked(packed, name), name);
  const hasher = new Bun.CryptoHasher('sha256');
  const first = await input.line();
  if (!first.toString('latin1').startsWith(`{"format":"${FORMAT}"`)) throw noBackup(name);
  const { format, ...header } = parse<Header & { format: string }>(first, name);
  if (format !== FORMAT) throw noBackup(name);
  hasher.update(first);
  /** @throws {FileError} at the end, too, if the file is damaged or cut off; until then a caller must not rely on what it got */
  async function* blocks(): AsyncGenerator<Block> {
    for (;;) {
      const line = await input.line();
      const text = line.toString('utf8').trimEnd();
      if (text.startsWith('end {')) {
        const { sha256 } = parse<{ sha256: string }>(line.subarray('end '.length), name);
        if (sha256 !== hasher.digest('hex') || !(await input.endsWith(END_MARK))) throw damaged(name);
        return;
      }
      const space = text.lastIndexOf(' ');
      const [table, bytes] = [text.slice(0, space), Number(text.slice(space + 1))];
      const isKnown = header.tables.some((each) => each.name === table);
      if (!isKnown || !Number.isSafeInteger(bytes) || bytes <= 0 || bytes > MOST_BYTES) throw damaged(name);
      hasher.update(line);
      const rows = await input.bytes(bytes);
      hasher.update(rows);
      yield { table, rows };
    }
  }
  return { header, blocks: blocks() };
}

/**
 * The decompressor takes a frame that lacks its last bytes, and bytes behind it, without an error. So we write a frame of our own
 * behind the file: only behind a whole one does it come out, and at once.
 */
const END_MARK = 'whole';
const END_FRAME = Bun.zstdCompressSync(END_MARK);

async function* withEnd(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* packed;
  yield END_FRAME;
}

/** Unpacks the file, and END_MARK behind it if it is whole. */
async function* unpacked(packed: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Buffer> {
  const unpacking = createZstdDecompress();
  // Its failure is that of the stream.
  pipeline(withEnd(packed), unpacking, () => {});
  try {
    for await (const chunk of unpacking) yield chunk as Buffer;
  } catch (error) {
    if (!codeOf(error)?.startsWith('ZSTD_')) throw error;
    const isPacked = codeOf(error) !== 'ZSTD_error_prefix_unknown' || unpacking.bytesWritten > 0;
    throw isPacked ? damaged(name, error) : noBackup(name);
  }
}

/** Lines and runs of bytes from chunks of any size. */
function createInput(chunks: AsyncGenerator<Buffer>, name: string) {
  let rest: Buffer = Buffer.alloc(0);
  /** @param endIn finds the end in a chunk behind `before` bytes; 0 means that it is not in this chunk */
  async function take(endIn: (chunk: Buffer, before: number) => number): Promise<Buffer> {
    const parts: Buffer[] = [];
    let length = 0;
    let end = endIn(rest, 0);
    while (end === 0) {
      parts.push(rest);
      length += rest.length;
      const { value, done } = await chunks.next();
      if (done || length > MOST_BYTES) throw damaged(name);
      rest = value;
      end = endIn(rest, length);
    }
    parts.push(rest.subarray(0, end));
    rest = rest.subarray(end);
    return Buffer.concat(parts);
  }
  return {
    /** The next line, with its line break. */
    line: () => take((chunk) => chunk.indexOf('\n') + 1),
    bytes: (count: number) => take((chunk, before) => (count <= before + chunk.length ? count - before : 0)),
    /** Whether exactly this text is left. */
    async endsWith(text: string): Promise<boolean> {
      for await (const chunk of chunks) {
        if (rest.length > text.length) return false;
        rest = Buffer.concat([rest, chunk]);
      }
      return rest.toString('latin1') === text;
    },
  };
}

function parse<T>(json: Buffer, name: string): T {
  try {
    return JSON.parse(json.toString('utf8'));
  } catch (error) {
    throw damaged(name, error);
  }
}

const NOTHING_CHANGED = 'nothing has changed';
const noBackup = (name: string) => new FileError(`${name}: is no backup of this service: ${NOTHING_CHANGED}`);
const damaged = (name: string, cause?: unknown) =>
  new FileError(`${name}: is damaged or cut off: ${NOTHING_CHANGED}; take another backup`, { cause });
