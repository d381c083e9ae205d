import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import type { Sql } from '../platform/postgres/connect.ts';
import { beginSnapshot, inBlocks } from '../platform/postgres/copy.ts';
import { withDedicated } from '../platform/postgres/dedicated.ts';
import { quoted } from '../platform/postgres/identifier.ts';
import { readMigrations } from '../platform/postgres/migrate.ts';
import { type CommandTools, print } from '../platform/terminal/command.ts';
import { openOutputFile } from '../platform/terminal/output-file.ts';
import type { Progress } from '../platform/terminal/progress.ts';
import { VERSION } from '../platform/version.ts';
import { readSequences, readTables, type Table } from './catalogue.ts';
import { encode, type Header } from './file.ts';

export type BackupReport = Awaited<ReturnType<typeof backUp>>;

export type BackupTools = Pick<CommandTools, 'databaseUrl' | 'sql' | 'signal'>;

/**
 * Writes every table, as it is at one moment, into one file. Calls, imports and sign-ins go on meanwhile. A backup that fails or
 * dies leaves the file of the last one as it is.
 *
 * @param file `-` means standard output
 * @returns `bytes` are those of the packed file
 * @throws FileError when the file can't be written
 */
export async function backUp(tools: BackupTools, file: string, progress: Progress) {
  const startedMs = performance.now();
  // Before the query: rows that nobody begins to read end in an uncaught error.
  const output = file === '-' ? null : await openOutputFile(file, tools.signal);
  let bytes = 0;
  try {
    await withDedicated(tools, async (sql) => {
      const header = await beginSnapshot(sql, () => readHeader(sql));
      const write = async (packed: AsyncIterable<Buffer>) => {
        for await (const part of packed) {
          bytes += part.length;
          await (output === null ? print(part) : output.append(part));
        }
      };
      const params = { [constants.ZSTD_c_checksumFlag]: 1 };
      await pipeline(
        encode(header, rowsOf(sql, header.tables, tools.signal, progress)),
        createZstdCompress({ params }),
        write,
      );
    });
    await output?.finish();
  } finally {
    await output?.close();
  }
  return { file, bytes, milliseconds: Math.round(performance.now() - startedMs) };
}

/** Locks the tables against their removal, as any reader does. */
async function readHeader(sql: Sql): Promise<Header> {
  // A scan that joins another one begins in the middle, and the order of a directory's rows means something.
  await sql`SET LOCAL synchronize_seqscans = off`;
  const tables = await readTables(sql);
  await sql.unsafe(`LOCK TABLE ${tables.map(({ name }) => quoted(name)).join(', ')} IN ACCESS SHARE MODE`);
  const [row] = await sql<{ at: Date }[]>`SELECT now() AS at`;
  const migrations = Object.fromEntries(
    [...(await readMigrations())].map(([name, { sha256 }]) => [name, sha256]),
  );
  return {
    version: VERSION,
    migrations,
    at: row!.at.toISOString(),
    tables,
    sequences: await readSequences(sql),
  };
}

async function* rowsOf(sql: Sql, tables: Table[], signal: AbortSignal, progress: Progress) {
  const expected = tables.reduce((sum, { estimate }) => sum + estimate, 0);
  progress.phase('copying the tables');
  let rows = 0;
  const onBlock = (messages: number) => {
    rows += messages;
    progress.update(rows, expected > 0 ? rows / expected : null);
  };
  for (const { name, columns } of tables) {
    // A cancellation between two statements reaches neither.
    signal.throwIfAborted();
    const list = columns.map(quoted).join(', ');
    const copy = await sql.unsafe(`COPY ${quoted(name)} (${list}) TO STDOUT`).readable();
    for await (const block of inBlocks(copy as AsyncIterable<Buffer>, onBlock))
      yield { table: name, rows: block };
  }
}
