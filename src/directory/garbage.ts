/** Tables and indices that nothing needs any more: how they are found and removed. */
import { codeOf, RefusedError } from '../errors.ts';
import type { Sql } from '../postgres/connect.ts';
import { quoted } from '../postgres/identifier.ts';
import type { Progress } from '../terminal/progress.ts';
import { SECOND } from '../units.ts';
import type { DirectoryContext } from './context.ts';
import { failureOf } from './failures.ts';
import { allGenerations, type Generation, readDirectory } from './generations.ts';
import { aliasTargets, deleteIndex, listIndices } from './indices.ts';
import { assertHeld, type DirectoryLock, TIDYING, withDirectoryLock } from './lock.ts';
import { REMOVING } from './steps.ts';

/** Searches that found the old index behind the alias are over by then (their own time-out is 2 s). */
const READERS_LEAVE_AFTER_MS = 2.5 * SECOND;

/** What nothing needs any more. */
interface Garbage {
  /** Neither current nor what a rollback returns to. */
  generations: Generation[];
  /** Those of such generations, and those that a run has begun and not finished. */
  indices: string[];
  /** Tables that a run has begun and not finished. */
  tables: string[];
}

/**
 * Looks for what nothing needs any more. An index that the alias points to is always needed, and so is every index of
 * another directory. Without the lock, what a run is building now is found, too.
 *
 * @param retiredForMs generations that served more recently are left for a later look
 */
async function findGarbage(
  { elasticsearch: client, config }: DirectoryContext,
  sql: Sql,
  retiredForMs: number,
): Promise<Garbage> {
  const directory = await readDirectory(sql);
  const served = client === null ? [] : await aliasTargets(client, config.elasticsearchAlias);
  const recent = await sql<{ id: number }[]>`
    SELECT id FROM directory_generations
    WHERE retired_at > clock_timestamp() - make_interval(secs => ${retiredForMs / SECOND})`;
  const kept = [directory.current.id, directory.previous?.id, ...recent.map(({ id }) => id)];
  const registered = await allGenerations(sql);
  const isKept = ({ id, indexName }: Generation) =>
    kept.includes(id) || (indexName !== null && served.includes(indexName));
  const needed = new Set([...served, ...registered.filter(isKept).map(({ indexName }) => indexName)]);
  const indices =
    client === null ? [] : [...(await listIndices(client, config.elasticsearchAlias, directory.id)).keys()];
  return {
    generations: registered.filter((generation) => !isKept(generation)),
    indices: indices.filter((name) => !needed.has(name)),
    tables: await unregisteredTables(sql),
  };
}

/** Removes what nothing needs any more, under the lock. */
export async function collectGarbage(
  context: DirectoryContext,
  lock: DirectoryLock,
  retiredForMs = 0,
): Promise<void> {
  await assertHeld(lock);
  const { elasticsearch: client } = context;
  const { sql } = lock;
  const { generations, indices } = await findGarbage(context, sql, retiredForMs);
  if (client !== null) {
    // Readers of a table hold a lock on it; those of an index hold nothing.
    const left = generations.filter(({ indexName }) => indexName !== null);
    await waitForReaders(sql, left, context.readersLeaveAfterMs);
    for (const name of indices) await deleteIndex(client, name);
  }
  for (const { id } of generations) await sql`DELETE FROM directory_generations WHERE id = ${id}`;
  // Now those of the removed generations are among them.
  for (const name of await unregisteredTables(sql)) await sql.unsafe(`DROP TABLE ${quoted(name)}`);
}

/** What has just stopped serving stays for a moment, so that nothing has to wait for its readers. */
export const LEFT_FOR_MS = 10 * SECOND;

/**
 * Removes what a dead run or a rollback has left, if nothing changes the directory now. Readers see no difference.
 *
 * @returns whether something was removed
 * @throws what Postgres or Elasticsearch says when they are away
 */
export async function tidyUpLeftovers(context: DirectoryContext): Promise<boolean> {
  const { generations, indices, tables } = await findGarbage(context, context.sql, LEFT_FOR_MS);
  if (generations.length + indices.length + tables.length === 0) return false;
  return withDirectoryLock(
    context,
    TIDYING,
    async (lock) => {
      await collectGarbage(context, lock, LEFT_FOR_MS);
      return true;
    },
    { patienceMs: 0 },
  ).catch((error) => {
    // A run is under way, and removes all of it at its end.
    if (error instanceof RefusedError) return false;
    throw error;
  });
}

/** Removes it at the end of a run, also of a failed one. What it can't remove now, the next look removes. */
export async function tidyUp(
  context: DirectoryContext,
  lock: DirectoryLock,
  progress: Pick<Progress, 'note' | 'phase'>,
): Promise<void> {
  progress.phase(REMOVING);
  try {
    await collectGarbage(context, lock).catch((error) => {
      // The cancellation of an interrupted run can arrive late, and hit this.
      if (codeOf(error) !== QUERY_CANCELED) throw error;
      return collectGarbage(context, lock);
    });
  } catch (error) {
    progress.note(`warning: old tables and indices stay for now: ${failureOf(error)}`);
  }
}

const QUERY_CANCELED = '57014';

async function waitForReaders(
  sql: DirectoryLock['sql'],
  generations: { id: number }[],
  waitMs = READERS_LEAVE_AFTER_MS,
): Promise<void> {
  if (generations.length === 0) return;
  const ids = generations.map(({ id }) => id);
  const [row] = await sql<{ age: number | null }[]>`
    SELECT (extract(epoch FROM clock_timestamp() - max(retired_at)) * 1000)::float8 AS age
    FROM directory_generations WHERE id = ANY(${ids})`;
  const age = row!.age ?? waitMs;
  if (age < waitMs) await Bun.sleep(waitMs - Math.max(age, 0));
}

/** Tables are named by generations alone; one that isn't registered is what a dead run has begun. */
async function unregisteredTables(sql: Sql): Promise<string[]> {
  const tables = await sql<{ name: string }[]>`
    SELECT relname AS name FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname ~ '^directory_g[0-9]{6,}$'
      AND relname NOT IN (SELECT table_name FROM directory_generations)`;
  return tables.map(({ name }) => name);
}
