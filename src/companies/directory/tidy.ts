/** Removes the tables and indices that neither searches nor a rollback need: what is old, and what a dead run has left. */
import type { Client } from '@elastic/elasticsearch';
import { RefusedError } from '../../platform/errors.ts';
import { isLockTimeout, type Sql } from '../../platform/postgres/connect.ts';
import { quoted } from '../../platform/postgres/identifier.ts';
import type { Progress } from '../../platform/terminal/progress.ts';
import { VOCABULARY } from '../resolve/vocabulary-table.ts';
import type { DirectoryContext } from './directory-context.ts';
import { failureOf, withPlainErrors } from './failures.ts';
import { type Directory, type Generation, readDirectory } from './generations.ts';
import { deleteIndex, listIndices, moveAlias } from './indexing/indices.ts';
import { assertHeld, type DirectoryLock, TIDYING, withDirectoryLock } from './lock.ts';

interface Leftovers {
  /** Generations that are neither current nor the previous one. */
  generations: Generation[];
  /** Indices of no other generation. One that an alias points to stays, because somebody may search it. */
  indices: string[];
  /** Indices that instances of 0.1.0 search by their alias, although they are not the current one. */
  behind: string[];
  current: Generation;
}

/** Without the lock it also finds what a run is building now. */
async function findLeftovers({ elasticsearch, config }: DirectoryContext, sql: Sql): Promise<Leftovers> {
  const { id, current, previous, generations } = await readDirectory(sql);
  const kept = previous === null ? [current] : [current, previous];
  const alias = config.elasticsearchPrefix;
  const own = elasticsearch === null ? [] : await ownIndices(elasticsearch, alias, sql, id);
  const names = (isLeft: (index: (typeof own)[number]) => boolean) =>
    own.filter(isLeft).map(({ name }) => name);
  const isOf = (index: (typeof own)[number], generation: Generation) =>
    index.directory === id && index.name === generation.index;
  const isThere = own.some((index) => isOf(index, current));
  return {
    generations: generations.filter((generation) => !kept.some(({ id }) => id === generation.id)),
    indices: names((index) => index.aliases.length === 0 && !kept.some((one) => isOf(index, one))),
    behind: names((index) => isThere && index.aliases.includes(alias) && !isOf(index, current)),
    current,
  };
}

/** The indices of this directory, and those from before a restore, whose databases this Postgres no longer has. */
async function ownIndices(client: Client, prefix: string, sql: Sql, id: string) {
  const databases = await sql<{ oid: string }[]>`SELECT oid::text AS oid FROM pg_database`;
  const [directory, , system] = id.split('.');
  const isGone = (other: string) => {
    const [ofDirectory, oid, ofSystem] = other.split('.');
    return (
      ofDirectory === directory && ofSystem === system && databases.every((database) => database.oid !== oid)
    );
  };
  const indices = await listIndices(client, prefix);
  return indices.filter((index) => index.directory === id || isGone(index.directory));
}

/**
 * Removes all of it. A read whose table or index is gone begins again with the current generation.
 * @returns the number of tables that stay for now, because a session reads them
 */
async function tidy(context: DirectoryContext, lock: DirectoryLock): Promise<number> {
  await assertHeld(lock);
  const { elasticsearch: client, config } = context;
  const { sql } = lock;
  const { generations, indices, behind, current } = await findLeftovers(context, sql);
  if (behind.length > 0) await moveAlias(client!, config.elasticsearchPrefix, behind, current.index!);
  for (const name of indices) await deleteIndex(client!, name);
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

/** Tables without a registered generation, and their vocabularies. */
async function unregisteredTables(sql: Sql): Promise<string[]> {
  const tables = await sql<{ name: string }[]>`
    SELECT relname AS name FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname ~ ${`^directory_g[0-9]{6,}(${VOCABULARY})?$`}
      AND replace(relname, ${VOCABULARY}, '') NOT IN (SELECT table_name FROM directory_generations)`;
  return tables.map(({ name }) => name);
}

/**
 * Tidies up, unless a run changes the directory now: it does so itself.
 *
 * @returns whether something was removed
 * @throws the error of Postgres or Elasticsearch when they are away
 */
export async function tidyNow(context: DirectoryContext): Promise<boolean> {
  const { generations, indices, behind } = await findLeftovers(context, context.sql);
  const tables = await unregisteredTables(context.sql);
  const leftovers = generations.length + indices.length + tables.length;
  if (leftovers + behind.length === 0) return false;
  const work = (lock: DirectoryLock) => tidy(context, lock);
  try {
    return leftovers > (await withDirectoryLock(context, TIDYING, work, { patienceMs: 0 }));
  } catch (error) {
    if (error instanceof RefusedError) return false;
    throw error;
  }
}

/**
 * Runs a command that changes the directory, under the lock, and tidies up before and after it, also when it fails.
 *
 * @param doing its name for other processes, e.g. `companies import`
 * @throws RefusedError, in one line, when another process changes the directory, or when Elasticsearch failed
 */
export function changeDirectory<T>(
  context: DirectoryContext,
  doing: string,
  progress: Pick<Progress, 'note' | 'phase'>,
  change: (lock: DirectoryLock, directory: Directory) => Promise<T>,
): Promise<T> {
  const work = async (lock: DirectoryLock) => {
    await tidy(context, lock);
    try {
      return await change(lock, await readDirectory(lock.sql));
    } finally {
      await tidyAfter(context, lock, progress);
    }
  };
  return withPlainErrors(() => withDirectoryLock(context, doing, work));
}

/** Tidies up behind a command. A failure is only noted: the next check of a server, or the next command, tries again. */
async function tidyAfter(
  context: DirectoryContext,
  lock: DirectoryLock,
  progress: Pick<Progress, 'note' | 'phase'>,
): Promise<void> {
  progress.phase('removing what is old');
  try {
    const stay = await tidy(context, lock).catch((error) => {
      // The cancellation of an interrupted run can arrive late, and hit this statement. Its error is a lock's in its second form.
      if (!isLockTimeout(error)) throw error;
      return tidy(context, lock);
    });
    if (stay > 0)
      progress.note(
        'a session reads an old table, such as a backup or an export: the next check removes the table',
      );
  } catch (error) {
    progress.note(`warning: old tables and indices stay for now: ${failureOf(error)}`);
  }
}
