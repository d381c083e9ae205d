/** Sessions of Postgres that read the directory when it is to be changed: a report, a backup, a psql left alone. */
import type { Sql } from '../postgres/connect.ts';
import type { Progress } from '../terminal/progress.ts';
import { SECOND } from '../units.ts';

export interface Waiting {
  /** Ends the wait. */
  signal: AbortSignal;
  progress: Pick<Progress, 'phase'>;
}

const POLL_EVERY_MS = 0.25 * SECOND;

interface Reader {
  pid: number;
  /** Its name in `pg_stat_activity`. */
  application: string;
  /** Distinguishes a long transaction from the next short one of the same process. */
  transaction: string;
}

/**
 * Makes a wait that ends when no transaction reads the directory for longer than a moment. It takes as long as they do, and its
 * phase names one of them. It asks for no lock, because searches would queue behind it.
 */
export function waitForReaders(sql: Sql, { signal, progress }: Waiting): () => Promise<void> {
  let shown = '';
  const show = (phase: string) => {
    if (phase !== shown) progress.phase(phase);
    shown = phase;
  };
  return async () => {
    if (shown === '') show('waiting for readers of the directory');
    let before = await readersOf(sql);
    for (;;) {
      await Bun.sleep(POLL_EVERY_MS);
      signal.throwIfAborted();
      const readers = await readersOf(sql);
      const staying = readers.find(({ transaction }) =>
        before.some((reader) => reader.transaction === transaction),
      );
      if (staying === undefined) return;
      show(
        `waiting for ${staying.application}, process ${staying.pid} of Postgres, which reads the directory`,
      );
      before = readers;
    }
  };
}

function readersOf(sql: Sql): Promise<Reader[]> {
  return sql<Reader[]>`
    SELECT pid, coalesce(nullif(application_name, ''), 'a session') AS application, virtualtransaction AS transaction
    FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE relation = 'directory_entries'::regclass AND granted AND pid <> pg_backend_pid()`;
}
