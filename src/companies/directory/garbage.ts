/** Finds and removes unneeded tables and indices. */
import { RefusedError } from '../../platform/errors.ts';
import { isLockTimeout, type Sql } from '../../platform/postgres/connect.ts';
import { quoted } from '../../platform/postgres/identifier.ts';
import type { Progress } from '../../platform/terminal/progress.ts';
import { SECOND } from '../../platform/units.ts';
import { VOCABULARY } from '../resolve/vocabulary-table.ts';
import type { DirectoryContext } from './context.ts';
import { failureOf } from './failures.ts';
import { type Generation, readDirectory } from './generations.ts';
import { deleteIndex, listIndices } from './indexing/indices.ts';
import { assertHeld, type DirectoryLock, TIDYING, withDirectoryLock } from './lock.ts';

/** Searches in the old index have ended by then, because they time out after 2 s. */
const READERS_LEAVE_AFTER_MS = 2.5 * SECOND;

interface Garbage {
  /** Generations that are neither current nor the previous one. */
  generations: Generation[];
  /** Indices of such generations, and of an unfinished run. */
  indices: string[];
  /** Tables of an unfinished run. */
  tables: string[];
}

/**
 * Finds unneeded tables and indices of this directory. An index that an alias points to stays, because instances of 0.1.0 search the
 * alias. Without the lock it also finds those that a run is building now.
 */
async function findGarbage({ elasticsearch: client, config }: DirectoryContext, sql: Sql): Promise<Garbage> {
  const { id, current, previous, generations } = await readDirectory(sql);
  const kept = [current, ...(previous === null ? [] : [previous])];
  const isKept = ({ id }: Generation) => kept.some((one) => one.id === id);
  const indices = client === null ? [] : await listIndices(client, config.elasticsearchPrefix, id);
  return {
    generations: generations.filter((generation) => !isKept(generation)),
    indices: indices.flatMap(({ name, isAliased }) =>
      isAliased || kept.some(({ indexName }) => indexName === name) ? [] : [name],
    ),
    tables: await unregisteredTables(sql),
  };
}

/** @returns the number of tables that stay for now, because a session reads them */
export async function collectGarbage(context: DirectoryContext, lock: DirectoryLock): Promise<number> {
  await assertHeld(lock);
  const { elasticsearch: client } = context;
  const { sql } = lock;
  const { generations, indices } = await findGarbage(context, sql);
  if (client !== null) {
    // Readers of a table hold a lock on it; those of an index hold nothing.
    const left = generations.filter(({ indexName }) => indexName !== null);
    await waitForReaders(sql, left, context.readersLeaveAfterMs);
    for (const name of indices) await deleteIndex(client, name);
  }
  for (const { id } of generations) await sql`DELETE FROM directory_generations WHERE id = ${id}`;
  // Now including those of the removed generations.
  let stay = 0;
  for (const name of await unregisteredTables(sql)) if (!(await dropUnread(sql, name))) stay++;
  return stay;
}

/**
 * A reader that comes during this time waits behind the removal. A search waits for no longer than that, and then finds the
 * current generation.
 */
const DROP_LOCK_TIMEOUT_MS = 100;

/** @returns false if a session reads the table, such as a backup or an export. Neither it nor an import waits for the other. */
async function dropUnread(sql: Sql, table: string): Promise<boolean> {
  const dropping = sql.begin(async (transaction) => {
    await transaction.unsafe(`SET LOCAL lock_timeout = ${DROP_LOCK_TIMEOUT_MS}`);
    await transaction.unsafe(`DROP TABLE ${quoted(table)}`);
    return true;
  });
  return dropping.catch((error) => (isLockTimeout(error) ? false : Promise.reject(error)));
}

/**
 * Removes what a dead run has left, unless a run changes the directory now. Readers see no difference.
 *
 * @returns whether something was removed
 * @throws the error of Postgres or Elasticsearch when they are away
 */
export async function collectGarbageNow(context: DirectoryContext): Promise<boolean> {
  const { generations, indices, tables } = await findGarbage(context, context.sql);
  const leftovers = generations.length + indices.length + tables.length;
  if (leftovers === 0) return false;
  const collect = (lock: DirectoryLock) => collectGarbage(context, lock);
  try {
    return leftovers > (await withDirectoryLock(context, TIDYING, collect, { patienceMs: 0 }));
  } catch (error) {
    // A running change removes all of it at its end.
    if (error instanceof RefusedError) return false;
    throw error;
  }
}

/** Removes leftovers at the end of a run, also of a failed one. The next check removes the rest. */
export async function collectGarbageAfter(
  context: DirectoryContext,
  lock: DirectoryLock,
  progress: Pick<Progress, 'note' | 'phase'>,
): Promise<void> {
  progress.phase('removing what is old');
  try {
    const stay = await collectGarbage(context, lock).catch((error) => {
      // The cancellation of an interrupted run can arrive late, and hit this statement. Its error is a lock's in its second form.
      if (!isLockTimeout(error)) throw error;
      return collectGarbage(context, lock);
    });
    if (stay > 0)
      progress.note(
        'a session reads an old table, such as a backup or an export: the next check removes the table',
      );
  } catch (error) {
    progress.note(`warning: old tables and indices stay for now: ${failureOf(error)}`);
  }
}

async function waitForReaders(
  sql: Sql,
  generations: Generation[],
  waitMs = READERS_LEAVE_AFTER_MS,
): Promise<void> {
  const ids = generations.map(({ id }) => id);
  const [row] = await sql<{ recent: boolean | null }[]>`
    SELECT max(retired_at) > clock_timestamp() - make_interval(secs => ${waitMs / SECOND}) AS recent
    FROM directory_generations WHERE id = ANY(${ids})`;
  if (row!.recent) await Bun.sleep(waitMs);
}

/** Tables without a registered generation, which a dead run has begun, and their vocabularies. */
async function unregisteredTables(sql: Sql): Promise<string[]> {
  const tables = await sql<{ name: string }[]>`
    SELECT relname AS name FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname ~ ${`^directory_g[0-9]{6,}(${VOCABULARY})?$`}
      AND replace(relname, ${VOCABULARY}, '') NOT IN (SELECT table_name FROM directory_generations)`;
  return tables.map(({ name }) => name);
}
