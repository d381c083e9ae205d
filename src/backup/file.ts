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

/** Both bound what a damaged file can make us keep. */
const LONGEST_LINE = 64 * MIB;
const LARGEST_BLOCK = 64 * MIB;

export interface BackupReader {
  header: Header;
  /** @throws {FileError} at the end, too, if the file is damaged or cut off; until then a caller must not rely on what it got */
  blocks: AsyncGenerator<Block>;
}

/**
 * Reads a file as far as its header.
 *
 * @param packed the bytes of the file
 * @param name for messages: the path, or `standard input`
 * @throws {FileError} it is no backup, or damaged
 */
export async function decode(packed: AsyncIterable<Uint8Array>, name: string): Promise<BackupReader> {
  const input = createInput(unpacked(packed, name), name);
  const hasher = new Bun.CryptoHasher('sha256');
  const first = await input.line();
  if (!first.toString('latin1').startsWith(`{"format":"${FORMAT}"`)) throw noBackup(name);
  const { format, ...header } = parse<Header & { format: string }>(first, name);
  if (format !== FORMAT) throw noBackup(name);
  hasher.update(first);
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
      if (!isKnown || !Number.isSafeInteger(bytes) || bytes < 0 || bytes > LARGEST_BLOCK) throw damaged(name);
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

/** Unpacks the file, and END_MARK behind it if it is whole. */
async function* unpacked(packed: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Buffer> {
  const unpacking = createZstdDecompress();
  let failure: unknown = null;
  const feeding = (async () => {
    for await (const chunk of packed) {
      if (!unpacking.write(chunk)) await new Promise((resolve) => unpacking.once('drain', resolve));
    }
    unpacking.end(END_FRAME);
  })().catch((error) => {
    failure = error;
    unpacking.destroy();
  });
  try {
    for await (const chunk of unpacking) yield chunk as Buffer;
  } catch (error) {
    if (failure === null) {
      const isPacked = codeOf(error) !== 'ZSTD_error_prefix_unknown' || unpacking.bytesWritten > 0;
      throw isPacked ? damaged(name, error) : noBackup(name);
    }
  }
  if (failure !== null) throw failure;
  await feeding;
}

/** Lines and runs of bytes from chunks of any size. */
function createInput(chunks: AsyncGenerator<Buffer>, name: string) {
  let rest: Buffer = Buffer.alloc(0);
  const more = async () => {
    const { value, done } = await chunks.next();
    if (done) throw damaged(name);
    return value as Buffer;
  };
  return {
    /** The next line, with its line break. */
    async line(): Promise<Buffer> {
      const parts = [rest];
      let length = rest.length;
      let end = rest.indexOf('\n');
      for (let before = 0; end === -1; ) {
        if (length > LONGEST_LINE) throw damaged(name);
        before = length;
        const chunk = await more();
        parts.push(chunk);
        length += chunk.length;
        const found = chunk.indexOf('\n');
        if (found !== -1) end = before + found;
      }
      const all = Buffer.concat(parts);
      rest = all.subarray(end + 1);
      return all.subarray(0, end + 1);
    },
    async bytes(count: number): Promise<Buffer> {
      const parts = [rest];
      let length = rest.length;
      while (length < count) {
        const chunk = await more();
        parts.push(chunk);
        length += chunk.length;
      }
      const all = parts.length === 1 ? rest : Buffer.concat(parts);
      rest = all.subarray(count);
      return all.subarray(0, count);
    },
    /** Whether exactly this text is left. */
    async endsWith(text: string): Promise<boolean> {
      let left = rest.toString('latin1');
      for await (const chunk of chunks) {
        if (left.length > text.length) return false;
        left += chunk.toString('latin1');
      }
      return left === text;
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
