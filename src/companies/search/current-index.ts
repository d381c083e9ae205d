import { openAsker } from '../../platform/postgres/asker.ts';
import { openDedicated } from '../../platform/postgres/dedicated.ts';
import { startInterval } from '../../platform/runtime/interval.ts';
import { SECOND } from '../../platform/units.ts';
import { selectCurrent } from './generation.ts';

/** The Postgres channel for a change of the current generation (src/companies/directory/generations.ts). */
export const DIRECTORY_CHANGED = 'directory_changed';

/** A lost connection is replaced within this time, too. */
const READ_EVERY_MS = 1 * SECOND;
const READ_TIMEOUT_MS = 2 * SECOND;

/**
 * Follows the current index. The transaction that makes a generation current notifies. The index is not known until the new one
 * has been read, and while the listening connection is lost. Opens in the background.
 *
 * The next read notices a silently lost connection within three seconds.
 */
export function watchCurrentIndex(databaseUrl: string) {
  let current: string | null = null;
  // Counts notifications and lost connections, which make a read out of date.
  let changes = 0;
  let closed = false;

  function change(): void {
    changes += 1;
    current = null;
  }

  // postgres.js's `listen` would not say when its connection is lost.
  const listener = openAsker(() =>
    openDedicated(
      databaseUrl,
      // Without the timeout, each read that waits for a lock would leave a process of the server behind.
      { applicationName: 'company-directory index watch', statementTimeoutMs: READ_TIMEOUT_MS },
      {
        onclose: change,
        onnotify: () => {
          change();
          void reads.run();
        },
      },
    ),
  );

  async function read(): Promise<void> {
    try {
      for (let before = -1; before !== changes && !closed; ) {
        before = changes;
        // Each time, because postgres.js replaces a lost connection silently.
        await listener.ask((sql) => sql.unsafe(`LISTEN ${DIRECTORY_CHANGED}`), READ_TIMEOUT_MS);
        const [row] = await listener.ask(selectCurrent, READ_TIMEOUT_MS);
        if (before === changes && !closed) current = row.index;
      }
    } catch {
      current = null; // read again in a second
    }
  }

  const reads = startInterval(read, READ_EVERY_MS);
  void reads.run();
  return {
    /** `null` means that it is not known now, so that no cached answer may be used. */
    name: () => current,
    async close(): Promise<void> {
      closed = true;
      current = null;
      await listener.end(1);
      await reads.stop();
    },
  };
}
