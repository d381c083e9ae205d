import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { messageOf, RefusedError } from '../platform/errors.ts';
import type { Transaction } from '../platform/postgres/connect.ts';
import { type CopyWriter, copyInto } from '../platform/postgres/copy.ts';
import { withDedicated } from '../platform/postgres/dedicated.ts';
import { quoted } from '../platform/postgres/identifier.ts';
import { readMigrations } from '../platform/postgres/migrate.ts';
import { orAborted } from '../platform/runtime/or-aborted.ts';
import { FileError, fileSystemError } from '../platform/terminal/file-error.ts';
import type { Progress } from '../platform/terminal/progress.ts';
import { VERSION } from '../platform/version.ts';
import type { BackupTools } from './backup.ts';
import { readRemovable, readTables } from './catalogue.ts';
import { type BackupReader, type Block, decode, type Header } from './file.ts';

/** The tables that have rows in a new database, because its migrations insert them. */
export const FILLED_WHEN_NEW = [
  'activity_numbers',
  'day_refreshes',
  'debt_change_numbers',
  'directory',
  'directory_generations',
  'plans',
  'schema_migrations',
];

/**
 * Reads a backup, and checks that this version can restore it. A file is read to its end. A pipe can be read only once, so its
 * end is checked before the restore is committed.
 *
 * @param file `-` means standard input
 * @param signal ends the wait for more of the file, with its reason, also while the blocks are read
 * @throws {FileError} it can't be read, is no backup, or is damaged
 * @throws RefusedError when another version wrote it
 */
export async function openBackup(file: string, signal: AbortSignal, progress: Progress) {
  const name = file === '-' ? 'standard input' : file;
  if (file !== '-') {
    progress.phase(`checking ${file}`);
    const { size } = await stat(file).catch((error) => Promise.reject(fileSystemError(file, error)));
    let bytes = 0;
    const count = (read: number) => {
      bytes += read;
      progress.update(0, size === 0 ? null : bytes / size);
    };
    const { header, blocks } = await decode(bytesOf(file, signal, count), name);
    await refuseOtherVersion(header, name);
    for await (const _ of blocks);
  }
  const reader = await decode(bytesOf(file, signal), name);
  await refuseOtherVersion(reader.header, name);
  return reader;
}

async function* bytesOf(file: string, signal: AbortSignal, onBytes?: (read: number) => void) {
  const stream: AsyncIterable<Uint8Array> = file === '-' ? Bun.stdin.stream() : createReadStream(file);
  const chunks = stream[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { value, done } = await orAborted(chunks.next(), signal);
      if (done) return;
      onBytes?.(value.length);
      yield value;
    }
  } catch (error) {
    if (signal.aborted) throw error;
    throw fileSystemError(file === '-' ? 'standard input' : file, error);
  } finally {
    const closing = chunks.return?.();
    // It queues behind a read in flight.
    if (!signal.aborted) await closing;
  }
}

async function refuseOtherVersion({ version, migrations }: Header, name: string): Promise<void> {
  const ours = await readMigrations();
  const names = new Set([...ours.keys(), ...Object.keys(migrations)]);
  const different = [...names].find((each) => ours.get(each)?.sha256 !== migrations[each]);
  if (different === undefined) return;
  throw new RefusedError(
    `${name}: was written by another version (${version}, this one is ${VERSION}; the migration ${different} differs): ` +
      'restore it with that version, and then upgrade: nothing has changed',
  );
}

/**
 * Puts a backup's rows into an empty database, in one transaction: all of them, or nothing. Statements of a service that runs on the
 * database wait meanwhile, and fail.
 *
 * @throws RefusedError when the database is not empty
 * @throws {FileError} the file is damaged
 */
export function restoreInto(tools: BackupTools, reader: BackupReader, progress: Progress) {
  return withDedicated(tools, async (sql, committed) => {
    const restored = await sql.begin((transaction) =>
      replaceAll(transaction, reader, tools.signal, progress),
    );
    await committed();
    return restored;
  });
}

async function replaceAll(
  sql: Transaction,
  { header, blocks }: BackupReader,
  signal: AbortSignal,
  progress: Progress,
) {
  const run = async (statement: string) => {
    // A cancellation between two statements reaches neither.
    signal.throwIfAborted();
    await sql.unsafe(statement);
  };
  const present = (await readTables(sql)).map(({ name }) => name);
  await run(`LOCK TABLE ${present.map(quoted).join(', ')}`);
  await refuseFilled(sql, present);
  // Tables that the service makes: generations of the directory, partitions.
  const wanted = header.tables.map(({ name }) => name);
  for (const name of present.filter((each) => !wanted.includes(each)))
    await run(`DROP TABLE ${quoted(name)}`);
  const kept = present.filter((name) => wanted.includes(name));
  const set = await readRemovable(sql);
  for (const { remove } of set) await run(remove);
  await run(`TRUNCATE ${kept.map(quoted).join(', ')}`);
  const made = header.tables.filter(({ name }) => !present.includes(name));
  for (const { create } of made) await run(create);

  progress.phase('storing the rows');
  const rows = await copyBlocks(sql, header, blocks, progress);
  progress.phase('building the indexes');
  for (const { complete } of made) for (const statement of complete) await run(statement);
  for (const { restore } of set.toReversed()) await run(restore);
  for (const { name, last } of header.sequences)
    await sql`SELECT setval(quote_ident(${name})::regclass, ${last})`;
  await run('ANALYZE');
  return { tables: header.tables.length, rows };
}

async function refuseFilled(sql: Transaction, tables: string[]): Promise<void> {
  const empty = tables.filter((name) => !FILLED_WHEN_NEW.includes(name) && name !== 'command_runs');
  const found = await sql.unsafe<{ name: string }[]>(
    empty
      .map((name) => `SELECT '${name}' AS name WHERE EXISTS (SELECT FROM ${quoted(name)})`)
      .join(' UNION ALL '),
  );
  if (found.length === 0) return;
  const names = found.map(({ name }) => name);
  const listed = names.length > 3 ? `${names.slice(0, 3).join(', ')}, …` : names.join(', ');
  throw new RefusedError(
    `a backup is restored into an empty database only, and this one has rows (${listed}): let DATABASE_URL name an empty ` +
      'one, or DATA_DIR a new folder: nothing has changed',
  );
}

/** @returns the number of rows */
async function copyBlocks(
  sql: Transaction,
  { tables }: Header,
  blocks: AsyncGenerator<Block>,
  progress: Progress,
): Promise<number> {
  const expected = tables.reduce((sum, { estimate }) => sum + estimate, 0);
  let table = '';
  let copy: CopyWriter | null = null;
  let rows = 0;
  try {
    for await (const block of blocks) {
      if (table !== block.table) {
        await copy?.finish();
        copy = null;
        table = block.table;
        const { columns } = tables.find(({ name }) => name === table)!;
        // Frozen rows are visible without a look at their transaction, so that no vacuum has to come after.
        copy = await copyInto(sql, `${quoted(table)} (${columns.map(quoted).join(', ')})`, 'FREEZE');
      }
      await copy!.writeBytes(block.rows);
      rows += newlines(block.rows);
      progress.update(rows, expected > 0 ? rows / expected : null);
    }
    await copy?.finish();
  } catch (error) {
    copy?.abort(error instanceof FileError ? error : new Error(messageOf(error)));
    throw error;
  }
  return rows;
}

/** Each row is a line. */
function newlines(rows: Buffer): number {
  let lines = 0;
  for (let at = rows.indexOf(10); at !== -1; at = rows.indexOf(10, at + 1)) lines += 1;
  return lines;
}
