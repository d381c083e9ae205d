/**
 * The directory's generations: which tables and indices there are, and which are current.
 *
 * Postgres is the authority. `directory.current` and the view `directory_entries` change together in one short
 * transaction; the Elasticsearch alias follows (reconcile.ts finishes that where a process died in between).
 */
import { RefusedError } from '../errors.ts';
import type { Sql, Transaction } from '../postgres/connect.ts';
import type { DirectoryLock } from './lock.ts';
import { quoted } from './tools.ts';

export interface Generation {
  id: number;
  tableName: string;
  /** The complete and checked index of these rows; null: none (embedded mode, or Elasticsearch failed). */
  indexName: string | null;
  /** What the index was built by (mappingFingerprint). */
  indexFingerprint: string | null;
  rows: number;
  /** What computed the normalized columns (normalizationFingerprint); null: there are no rows. */
  normalization: string | null;
  origin: 'empty' | 'import' | 'rebuild';
}

export interface Directory {
  /** Tells this directory's indices from others' in the same Elasticsearch; a copied database has another one. */
  id: string;
  current: Generation;
  /** What a rollback returns to. */
  previous: Generation | null;
}

/** How a generation becomes current. `import` makes the present one the previous; `rebuild` takes its place. */
export type NewGeneration = Omit<Generation, 'id' | 'origin'> & { id: number; origin: 'import' | 'rebuild' };

const COLUMNS = `id, table_name AS "tableName", index_name AS "indexName", index_fingerprint AS "indexFingerprint",
  rows, normalization, origin`;

/** The directory as it is now. */
export async function readDirectory(sql: Sql): Promise<Directory> {
  // A copy of a database has the same id in its tables, but is not the same database: were it taken for it, the
  // copy's imports would remove the original's indices.
  const [row] = await sql<{ id: string; current: number; previous: number | null }[]>`
    SELECT concat_ws('.', id, database.oid, (SELECT system_identifier FROM pg_control_system())) AS id,
      current, previous
    FROM directory, pg_database database WHERE datname = current_database()`;
  const generations = await allGenerations(sql);
  const find = (id: number | null) => generations.find((generation) => generation.id === id);
  const current = find(row!.current);
  // The two statements see two moments: a swap in between is possible, but not often.
  if (current === undefined) return readDirectory(sql);
  return { id: row!.id, current, previous: find(row!.previous) ?? null };
}

/** Every generation that is registered, those that wait for their removal too. */
export function allGenerations(sql: Sql): Promise<Generation[]> {
  return sql.unsafe<Generation[]>(`SELECT ${COLUMNS} FROM directory_generations ORDER BY id`);
}

/** A number and a table name that nothing has had before. The table is not created. */
export async function nextGeneration(sql: Sql): Promise<{ id: number; tableName: string }> {
  const [row] = await sql<{ id: number }[]>`SELECT nextval('directory_generation_ids')::int AS id`;
  return { id: row!.id, tableName: `directory_g${String(row!.id).padStart(6, '0')}` };
}

/** Registers a generation and makes it current, together with the view. */
export async function makeCurrent(lock: DirectoryLock, next: NewGeneration, actor: string): Promise<void> {
  await swap(lock, async (sql) => {
    await sql`
      INSERT INTO directory_generations
        (id, table_name, index_name, index_fingerprint, rows, normalization, origin, created_by)
      VALUES (${next.id}, ${next.tableName}, ${next.indexName}, ${next.indexFingerprint}, ${next.rows},
        ${next.normalization}, ${next.origin}, ${actor})`;
    await sql`UPDATE directory_generations SET retired_at = clock_timestamp() WHERE id = (SELECT current FROM directory)`;
    await sql`
      UPDATE directory SET
        previous = CASE WHEN ${next.origin === 'import'} THEN current ELSE previous END,
        current = ${next.id}`;
    await showInView(sql, next.tableName);
  });
}

/**
 * Makes the previous generation the current one; there is no previous one then.
 * @param index the previous generation's index, where it was built anew for this
 */
export async function makePreviousCurrent(
  lock: DirectoryLock,
  index: { name: string; fingerprint: string } | null,
): Promise<void> {
  await swap(lock, async (sql) => {
    await sql`UPDATE directory_generations SET retired_at = clock_timestamp() WHERE id = (SELECT current FROM directory)`;
    const [row] = await sql<{ tableName: string }[]>`
      UPDATE directory_generations SET
        retired_at = NULL,
        index_name = coalesce(${index?.name ?? null}, index_name),
        index_fingerprint = coalesce(${index?.fingerprint ?? null}, index_fingerprint)
      WHERE id = (SELECT previous FROM directory)
      RETURNING table_name AS "tableName"`;
    await sql`UPDATE directory SET current = previous, previous = NULL`;
    await showInView(sql, row!.tableName);
  });
}

async function showInView(sql: Transaction, table: string): Promise<void> {
  await sql.unsafe(
    `CREATE OR REPLACE VIEW directory_entries AS
     SELECT nif, legal_name, normalized_name, sort_key FROM ${quoted(table)}`,
  );
}

/** Readers queue behind whoever waits for the view, so nobody waits for long; long readers are tried around. */
const VIEW_LOCK_TIMEOUT = '250ms';
const VIEW_LOCK_TRIES = 120;
const VIEW_LOCK_PAUSE_MS = 250;

/**
 * Runs a change of what is current in one transaction of the lock's own connection, in which it makes sure that the lock is
 * still held. Who takes the lock writes its token into the same row, so it is this change or theirs, never both.
 */
async function swap(lock: DirectoryLock, change: (sql: Transaction) => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await lock.sql.begin(async (sql) => {
        await sql.unsafe(`SET LOCAL lock_timeout = '${VIEW_LOCK_TIMEOUT}'`);
        const [held] = await sql<{ held: boolean }[]>`
          SELECT lock_token = ${lock.token} AND pg_backend_pid() = ${lock.backend} AS held
          FROM directory FOR UPDATE`;
        if (held?.held !== true) throw lockLost();
        await change(sql as Transaction);
      });
      return;
    } catch (error) {
      const isLockTimeout = (error as { code?: unknown }).code === '55P03';
      if (!isLockTimeout || tries === VIEW_LOCK_TRIES) throw error;
      await Bun.sleep(VIEW_LOCK_PAUSE_MS);
    }
  }
}

function lockLost(): RefusedError {
  return new RefusedError(
    'the connection that held the lock was lost: nothing has changed, run the command again',
  );
}
