/**
 * The directory's current generation, for everything that reads it (src/companies/directory/generations.ts changes it).
 *
 * A read names its generation's table or index, whose rows never change, so no answer mixes two directories. An import waits for no
 * reader: a read whose generation was replaced, and perhaps removed, begins again.
 */
import type { Client } from '@elastic/elasticsearch';
import { READS } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { createBatcher } from '../../platform/runtime/batcher.ts';
import { NoAnswerError, OverloadedError } from '../../platform/runtime/timeout.ts';
import { belongsToDirectory } from './index-meta.ts';

/**
 * A generation is taken for current for this long after the beginning of the read that found it so. A command that changes the
 * directory ends this long after the change, so that every search which begins later sees the new one.
 */
export const CONFIRMED_MS = 250;

export interface CurrentGeneration {
  id: number;
  /** Its table's plain name. */
  table: string;
  /** Its complete index in Elasticsearch; `null` if there is none. */
  index: string | null;
  rows: number;
}

/**
 * The id that an index has in its `_meta`. A copy of a database has the same id in its tables, but is another directory: its
 * imports would remove the original's indices.
 */
export async function readDirectoryId(sql: Sql): Promise<string> {
  const [row] = await sql.unsafe<{ id: string }[]>(`
    SELECT concat_ws('.', id, database.oid, (SELECT system_identifier FROM pg_control_system())) AS id
    FROM directory, pg_database database WHERE datname = current_database()`);
  return row!.id;
}

/** The most attempts while imports replace the generation. */
const MAX_ATTEMPTS = 4;

export interface CurrentDirectory {
  /**
   * Runs `work` on the current generation. If no read of the last {@link CONFIRMED_MS} tells which that is, it runs on the last known
   * one, beside a read. If the generation is found to be another one, also after a failure of `work`, `work` begins again.
   *
   * @param work gets a generation with `index: null` if its index is not this directory's
   */
  read<T>(work: (generation: CurrentGeneration) => Promise<T>): Promise<T>;
  /** The id of the current generation; `null` if no read of the last {@link CONFIRMED_MS} tells. */
  confirmed(): number | null;
}

/** @param client `null` means that the directory is searched in Postgres */
export function openCurrent(sql: Sql, client: Client | null): CurrentDirectory {
  let known: CurrentGeneration | null = null;
  let knownAtMs = Number.NEGATIVE_INFINITY;

  /** Requests of one turn of the event loop share a query, which begins after each of them. */
  const askBatch = createBatcher<null, CurrentGeneration>(async (requests, bound) => {
    const beganMs = performance.now();
    let [current] = await bound(sql<[CurrentGeneration]>`
      SELECT generation.id, table_name AS "table", index_name AS "index", rows
      FROM directory_generations AS generation JOIN directory ON generation.id = current`);
    const { index } = current;
    if (client !== null && index !== null && index !== known?.index) {
      const isOwn = await bound(belongsToDirectory(client, index, await bound(readDirectoryId(sql))));
      if (!isOwn) current = { ...current, index: null };
    }
    // Reads may end in another order than they began.
    if (beganMs >= knownAtMs) {
      known = current;
      knownAtMs = beganMs;
    }
    return requests.map(() => current);
  }, READS);
  const learn = () => askBatch(null);

  const isConfirmed = () => performance.now() - knownAtMs < CONFIRMED_MS;
  const isSame = (one: CurrentGeneration, other: CurrentGeneration) =>
    one.id === other.id && one.index === other.index;

  return {
    async read(work) {
      for (let attempt = 1; ; attempt += 1) {
        const used = known ?? (await learn());
        try {
          const [outcome, current] = await Promise.all([work(used), isConfirmed() ? used : learn()]);
          if (isSame(used, current)) return outcome;
          if (attempt === MAX_ATTEMPTS) throw new Error('the directory was replaced again and again');
        } catch (error) {
          // Only an answer tells that something was removed. Without one of Postgres the failure of the work stays.
          const isLate = error instanceof NoAnswerError || error instanceof OverloadedError;
          if (isLate || attempt === MAX_ATTEMPTS) throw error;
          const current = await learn().catch(() => used);
          if (isSame(used, current)) throw error;
        }
      }
    },
    confirmed: () => (isConfirmed() ? known!.id : null),
  };
}
