import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { KIB } from '../units.ts';
import type { Sql } from './connect.ts';

export interface CopyWriter {
  /** Adds whole lines of COPY's text format. Resolves at once, or when the connection has taken what waits. */
  write(lines: string): Promise<void> | undefined;
  /** Resolves when Postgres has all rows. */
  finish(): Promise<void>;
  /** Gives up: no row stays. */
  abort(reason: Error): void;
}

/** So much is gathered for one message. */
const MESSAGE_CHARACTERS = 128 * KIB;

/**
 * Opens `COPY table (columns) FROM STDIN` on a connection of its own (see openDedicated), with back-pressure: memory
 * stays flat however slow Postgres is.
 *
 * @param target `table (column, …)`, quoted where it must be
 */
export async function copyInto(connection: Sql, target: string): Promise<CopyWriter> {
  const stream: Writable = await connection.unsafe(`COPY ${target} FROM STDIN`).writable();
  let failure: Error | null = null;
  stream.on('error', (error) => {
    failure ??= error;
  });
  let pending = '';

  const flush = (): Promise<void> | undefined => {
    if (failure !== null) throw failure;
    const text = pending;
    pending = '';
    if (text === '' || stream.write(text)) return;
    // `once` rejects on 'error' as well; a stream that was destroyed before emits nothing any more.
    return stream.destroyed
      ? Promise.reject(failure ?? new Error('the connection to Postgres was lost'))
      : once(stream, 'drain').then(() => {});
  };
  return {
    write(lines) {
      pending += lines;
      return pending.length >= MESSAGE_CHARACTERS ? flush() : undefined;
    },
    async finish() {
      await flush();
      if (stream.writableNeedDrain) await once(stream, 'drain');
      let complete = false;
      const ended = new Promise<void>((resolve, reject) => {
        stream.once('error', reject);
        stream.end(() => {
          complete = failure === null;
          resolve();
        });
      });
      ended.catch(() => {});
      // postgres.js never settles the stream when Postgres fails it at its very end, or the connection is lost then:
      // but a query behind it is answered, or fails. It can be sent when the stream has been handed over.
      await new Promise((resolve) => setTimeout(resolve, 0));
      if (!stream.destroyed) await Promise.race([ended, connection.unsafe('SELECT 1').then(() => {})]);
      if (!complete) throw failure ?? new Error('Postgres did not take the rows');
    },
    abort(reason) {
      if (!stream.destroyed) stream.destroy(reason);
    },
  };
}

/** A value in COPY's text format (null is `\N`); NUL, which Postgres can't hold, becomes U+FFFD. */
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
