import postgres from 'postgres';
import type { Sql } from '../postgres/connect.ts';
import { startInterval } from '../runtime/interval.ts';
import { withTimeout } from '../runtime/timeout.ts';
import { SECOND } from '../units.ts';

/** Postgres channel that is notified when another generation becomes current (src/directory/generations.ts). */
export const DIRECTORY_CHANGED = 'directory_changed';

/** Which search index is current, as Postgres says it. */
export interface CurrentIndex {
  /** `null` means that it is not known now: no cached answer may be used. */
  name(): string | null;
  close(): Promise<void>;
}

/** Also how soon a lost connection is replaced. */
const READ_EVERY_MS = 1 * SECOND;
const READ_TIMEOUT_MS = 2 * SECOND;

/**
 * Follows which index is current. The transaction that makes a generation current notifies; until the new one has been read,
 * and while the connection that listens is away, none is known. Opens in the background.
 *
 * A connection that is gone without a word is noticed by the next read, within three seconds.
 */
export function watchCurrentIndex(sql: Sql): CurrentIndex {
  let current: string | null = null;
  // Counts what can make a read out of date: notifications, and connections that were lost.
  let changes = 0;
  let closed = false;

  function change(): void {
    changes += 1;
    current = null;
  }

  // A dedicated connection, kept open. postgres.js's `listen` would not say when its connection is lost.
  const listener = postgres({
    // The parsed options of another pool are accepted as they are (postgres.js 3.4.9, parseOptions: `shared`).
    ...(sql.options as unknown as postgres.Options<{ bigint: postgres.PostgresType<number> }>),
    max: 1,
    idle_timeout: undefined,
    max_lifetime: null,
    onclose: change,
    ...{
      onnotify: () => {
        change();
        void reads.run();
      },
    },
  });

  async function read(): Promise<void> {
    try {
      for (let before = -1; before !== changes && !closed; ) {
        before = changes;
        // Each time, because postgres.js replaces a lost connection silently.
        await withTimeout(listener.unsafe(`LISTEN ${DIRECTORY_CHANGED}`), READ_TIMEOUT_MS, 'Postgres');
        const rows = listener<{ index: string | null }[]>`
          SELECT index_name AS index FROM directory_generations WHERE id = (SELECT current FROM directory)`;
        const [row] = await withTimeout(rows, READ_TIMEOUT_MS, 'Postgres');
        if (before === changes && !closed) current = row?.index ?? null;
      }
    } catch {
      current = null; // read again in a second
    }
  }

  const reads = startInterval(read, READ_EVERY_MS);
  void reads.run();
  return {
    name: () => current,
    async close() {
      closed = true;
      current = null;
      await listener.end({ timeout: 1 });
      await reads.stop();
    },
  };
}
