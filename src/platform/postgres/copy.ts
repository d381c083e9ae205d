import { createHash } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import { createTextBuffer } from '../runtime/text-buffer.ts';
import { KIB } from '../units.ts';
import { beginAgain } from './begin-again.ts';
import type { Sql, Transaction } from './connect.ts';

export type CopyWriter = Awaited<ReturnType<typeof copyInto>>;

const MESSAGE_BYTES = 128 * KIB;

/**
 * Opens `COPY table (columns) FROM STDIN` on a dedicated connection (see openDedicated), with back-pressure, so that a slow
 * Postgres costs no memory.
 *
 * @param target `table (column, …)`, quoted if it must be
 * @param options of COPY, for example `FREEZE`
 */
export async function copyInto(connection: Sql | Transaction, target: string, options?: 'FREEZE') {
  const how = options === undefined ? '' : ` WITH (${options})`;
  const stream: Writable = await connection.unsafe(`COPY ${target} FROM STDIN${how}`).writable();
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  stream.on('error', failed.reject);
  // Postgres may have refused it in the packet that began it, before anybody could listen.
  if (stream.errored) failed.reject(stream.errored);
  const pending = createTextBuffer(2 * MESSAGE_BYTES);

  const send = (lines: Uint8Array) => {
    // postgres.js copies the message into its own, so the buffer can be used again.
    const written = new Promise<void>((resolve, reject) => {
      stream.write(lines, (error) => (error ? reject(error) : resolve()));
    });
    return Promise.race([written, failed.promise]);
  };
  const flush = async () => {
    if (pending.length === 0) return;
    const sent = send(pending.bytes());
    pending.clear();
    await sent;
  };
  return {
    /** Adds whole lines of COPY's text format. If it returns a promise, the caller waits for Postgres. */
    write(lines: string): Promise<void> | undefined {
      pending.append(lines);
      return pending.length >= MESSAGE_BYTES ? flush() : undefined;
    },
    /** Sends whole lines that are encoded already. */
    async writeBytes(lines: Uint8Array): Promise<void> {
      await flush();
      await send(lines);
    },
    /** Resolves when Postgres has all rows. */
    async finish(): Promise<void> {
      await flush();
      const ended = new Promise<void>((resolve, reject) => {
        stream.end((error?: Error | null) => (error ? reject(error) : resolve()));
      });
      // Report Postgres's error first. The error of the closed stream says less.
      await Promise.race([failed.promise, ended]);
    },
    /** Cancels the copy, so that no row stays. */
    abort(reason: Error): void {
      if (!stream.destroyed) stream.destroy(reason);
    },
  };
}

const BLOCK_BYTES = 256 * KIB;

/**
 * The messages of a COPY in larger blocks: Postgres sends one for each row.
 * @param onBlock gets the number of messages of each block that was taken
 */
export async function* inBlocks(
  messages: AsyncIterable<Buffer>,
  onBlock: (messages: number) => void,
): AsyncGenerator<Buffer> {
  let block: Buffer[] = [];
  let bytes = 0;
  for await (const message of messages) {
    block.push(message);
    bytes += message.length;
    if (bytes < BLOCK_BYTES) continue;
    yield Buffer.concat(block);
    onBlock(block.length);
    block = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(block);
  onBlock(block.length);
}

/**
 * Begins a transaction that sees one moment, for copies. It ends with the connection, so that a reader that has left can't keep it open.
 * @param sql a dedicated connection
 * @param find what is copied; asked again in a new transaction if a table of it was replaced meanwhile
 */
export const beginSnapshot = <T>(sql: Sql, find: () => Promise<T>): Promise<T> =>
  beginAgain(async () => {
    await sql`ROLLBACK`;
    await sql`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`;
    return find();
  });

/** The rows of a SELECT as CSV with a header, in messages. The caller reads them to their end. */
export const copyOut = (connection: Sql | Transaction, select: string): Promise<Readable> =>
  connection.unsafe(`COPY (${select}) TO STDOUT WITH (FORMAT csv, HEADER)`).readable();

/** The SHA-256 of {@link copyOut}, 64 hexadecimal digits: that of the file that an export of these rows writes. */
export async function hashOfRows(connection: Sql | Transaction, select: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const message of await copyOut(connection, select)) hash.update(message);
  return hash.digest('hex');
}

/** A value in COPY's text format (`null` is `\N`). NUL becomes U+FFFD, because Postgres can't store it. */
export function copyValue(text: string | null): string {
  if (text === null) return '\\N';
  return /[\\\n\r\t\0]/.test(text) ? text.replace(/[\\\n\r\t\0]/g, (character) => ESCAPES[character]!) : text;
}

const ESCAPES: Record<string, string> = {
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\0': '\ufffd',
};
