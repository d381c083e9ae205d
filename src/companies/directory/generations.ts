/**
 * The directory's generations: their tables and indices, and the current one.
 *
 * Postgres is the authority: `directory.current` changes in one statement, and names the index. Reads learn the current generation
 * by src/companies/search/current.ts.
 */

import type { Sql } from '../../platform/postgres/connect.ts';
import { quoted } from '../../platform/postgres/identifier.ts';
import type { FileDigest } from '../file-digest.ts';
import { normalizationFingerprint } from '../name.ts';
import { CONFIRMED_MS, type CurrentGeneration, readDirectoryId } from '../search/current.ts';
import { type DirectoryLock, lockLost } from './lock.ts';

export interface Generation extends CurrentGeneration {
  /** The fingerprint of the rows' normalization (normalizationFingerprint); `null` if there are no rows. */
  normalization: string | null;
  origin: 'empty' | 'import' | 'rebuild';
}

export interface Directory {
  /** Distinguishes this directory's indices in a shared Elasticsearch. A copied database has another id. */
  id: string;
  current: Generation;
  /** The generation that a rollback returns to. */
  previous: Generation | null;
  /** Every registered generation, also those that wait for their removal. */
  generations: Generation[];
}

/** The file of an import. */
export interface LoadedFile {
  /** Its name without folders. */
  file: string;
  digest: FileDigest;
}

/** An import, and the rows that the directory had after it. */
interface Load extends LoadedFile {
  /** The SHA-256 of the directory's rows then ({@link entriesOf}). */
  rowsSha256: string;
}

/** SQL: the entries of a directory table in the form of a file, in the order of NIFs. */
export const entriesOf = (table: string): string =>
  `SELECT nif, legal_name FROM ${quoted(table)} ORDER BY nif`;

export async function readDirectory(sql: Sql): Promise<Directory> {
  const id = await readDirectoryId(sql);
  const [row] = await sql<
    { current: number; previous: number | null }[]
  >`SELECT current, previous FROM directory`;
  const generations = await sql<Generation[]>`
    SELECT id, table_name AS "table", index_name AS "index", rows, normalization, origin
    FROM directory_generations ORDER BY id`;
  const find = (id: number | null) => generations.find((generation) => generation.id === id);
  const current = find(row!.current);
  // A swap between the two statements is possible, so try again.
  if (current === undefined) return readDirectory(sql);
  return { id, current, previous: find(row!.previous) ?? null, generations };
}

/** Whether the rows were normalized by other rules than this version's. */
export function isStale({ normalization }: Pick<Generation, 'normalization'>): boolean {
  return normalization !== null && normalization !== normalizationFingerprint();
}

/** A new number and a new table name. The table is not created. */
export async function nextGeneration(sql: Sql): Promise<{ id: number; table: string }> {
  const [row] = await sql<{ id: number }[]>`SELECT nextval('directory_generation_ids')::int AS id`;
  return { id: row!.id, table: `directory_g${String(row!.id).padStart(6, '0')}` };
}

/**
 * Registers a generation, whose rows this version has normalized, and makes it current. An import makes the present generation the
 * previous one. A rebuild takes its place, and the previous one stays.
 * @param load the import; `null` means a rebuild
 */
export async function makeCurrent(
  lock: DirectoryLock,
  { current, previous }: Directory,
  { id, table, index, rows }: CurrentGeneration,
  load: Load | null,
  actor: string,
): Promise<void> {
  // A rebuild has the rows of the present generation, so it was loaded when that was.
  const loaded =
    load === null
      ? lock.sql`loaded_at, loaded_by, loaded_file, file_sha256, file_bytes, file_at, rows_sha256`
      : lock.sql`now(), ${actor}, ${load.file}, ${load.digest.sha256}, ${load.digest.bytes}, now(), ${load.rowsSha256}`;
  await lock.sql`
    INSERT INTO directory_generations
      (id, table_name, index_name, rows, normalization, origin, created_by,
        loaded_at, loaded_by, loaded_file, file_sha256, file_bytes, file_at, rows_sha256)
    SELECT ${id}, ${table}, ${index}, ${rows}, ${rows === 0 ? null : normalizationFingerprint()},
      ${load === null ? 'rebuild' : 'import'}, ${actor}, ${loaded}
    FROM directory_generations WHERE id = ${current.id}`;
  await swap(lock, id, load === null ? (previous?.id ?? null) : current.id);
}

/** Records an import whose file equals the current rows. */
export async function confirmLoad(
  { sql }: DirectoryLock,
  { current }: Directory,
  { file, digest, rowsSha256 }: Load,
  actor: string,
): Promise<void> {
  await sql`
    UPDATE directory_generations SET loaded_at = now(), loaded_by = ${actor}, loaded_file = ${file},
      file_sha256 = ${digest.sha256}, file_bytes = ${digest.bytes}, file_at = now(), rows_sha256 = ${rowsSha256}
    WHERE id = ${current.id}`;
}

/** Makes the previous generation the current one. There is no previous one afterwards. @param previous with the index to search */
export async function makePreviousCurrent(
  lock: DirectoryLock,
  { id, index }: Pick<Generation, 'id' | 'index'>,
): Promise<void> {
  await lock.sql`UPDATE directory_generations SET index_name = ${index} WHERE id = ${id}`;
  await swap(lock, id, null);
}

/**
 * Changes the current generation, in one statement of the lock's connection that also checks the lock. The next holder of the lock
 * writes its own process into the same row, so only one of the two changes succeeds. No reader of the directory delays it. Instances of
 * 0.1.0 listen for the notification. After the pause no instance answers from the old generation, also not from its cache.
 */
async function swap(lock: DirectoryLock, next: number, previous: number | null): Promise<void> {
  const changed = await lock.sql`
    WITH changed AS (
      UPDATE directory SET current = ${next}, previous = ${previous}
      WHERE lock_backend = ${lock.backend} AND pg_backend_pid() = ${lock.backend} RETURNING current
    )
    SELECT pg_notify('directory_changed', '') FROM changed`;
  if (changed.length === 0) throw lockLost();
  await lock.changed();
  await Bun.sleep(CONFIRMED_MS);
}
