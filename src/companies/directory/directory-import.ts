/**
 * The stages of an import. A run that fails or dies before the fifth changes nothing that readers see.
 *
 * 1. lock: one process at a time. It removes the leftovers of a dead run (tidy.ts).
 * 2. stage: usable rows of the file go into a temporary table (../ingest/staging.ts)
 * 3. compare: with the current generation; an import without a difference ends here (tables.ts)
 * 4. build: the table of the next generation is filled, and its index beside it (publish.ts)
 * 5. publish: one statement makes the generation current (publish.ts)
 */

import { basename } from 'node:path';
import { RefusedError } from '../../platform/errors.ts';
import { beginAgain } from '../../platform/postgres/begin-again.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { hashOfRows } from '../../platform/postgres/copy.ts';
import { withDedicated } from '../../platform/postgres/dedicated.ts';
import { count, type Progress } from '../../platform/terminal/progress.ts';
import type { FileDigest } from '../file-digest.ts';
import type { ImportReport } from '../ingest/import-command.ts';
import type { RowSource } from '../ingest/source.ts';
import { type FileOptions, SMALLEST_REPLACEMENT, stageFile } from '../ingest/staging.ts';
import { normalizationFingerprint } from '../name.ts';
import { belongsToDirectory } from '../search/index-meta.ts';
import type { DirectoryContext } from './directory-context.ts';
import { DIRECTORY_LAYOUT } from './directory-layout.ts';
import { withPlainErrors } from './failures.ts';
import {
  confirmLoad,
  type Directory,
  entriesOf,
  type Generation,
  isStale,
  type Load,
  nextGeneration,
  readDirectory,
} from './generations.ts';
import { NO_INDEX } from './index-status.ts';
import type { DirectoryLock } from './lock.ts';
import { indexRows, publish } from './publish.ts';
import { replaceIndex } from './rebuild.ts';
import { compareStaged, copyNormalized, type Difference, fillTable, finishTable } from './tables.ts';
import { changeDirectory } from './tidy.ts';

export interface ImportOptions extends FileOptions {
  /** The file is the whole directory, so companies that it doesn't have are removed. */
  replace?: boolean | undefined;
  /** With `replace`, import also a file that leaves far fewer companies. */
  force?: boolean | undefined;
}

export interface DirectoryReport extends ImportReport {
  unchanged: number;
  index: string;
}

/**
 * Imports a directory file (docs/imports.md: files). Readers see the old directory until the new one is complete. A run that fails or
 * dies changes nothing that they see.
 *
 * @returns `imported` counts new companies and changed names; `index` is the table in embedded mode
 * @throws FileError when the file can't be read
 * @throws RefusedError, in one line, when no row is usable, when the import would wipe the directory, when another process
 * changes the directory, or when Elasticsearch failed
 */
export function importCompanies(
  context: DirectoryContext,
  source: RowSource,
  options: ImportOptions,
  progress: Progress,
): Promise<DirectoryReport> {
  if (options.dryRun) {
    return withPlainErrors(() =>
      withDedicated(context, async (sql) => {
        const { report } = await readAndCompare(context, sql, source, options, progress);
        return report;
      }),
    );
  }
  return changeDirectory(context, 'companies import', progress, async (lock, directory) => {
    const compared = await readAndCompare(context, lock.sql, source, options, progress);
    const { report, difference, digest } = compared;
    const file = 'path' in source ? basename(source.path) : '-';
    if (difference.imported + difference.removed > 0) {
      const given = { ...options, file, digest };
      report.index = await replaceGeneration(context, lock, directory, difference, given, progress);
      return report;
    }
    const rowsSha256 = await hashOfRows(lock.sql, entriesOf(directory.current.tableName));
    await confirmLoad(lock, directory, { file, digest, rowsSha256 }, context.actor);
    if (report.index === NO_INDEX) report.index = await replaceIndex(context, lock, directory, progress);
    return report;
  });
}

/** Reads the file into the staging table and compares it with the directory. Changes nothing. */
async function readAndCompare(
  context: DirectoryContext,
  sql: Sql,
  source: RowSource,
  { replace = false, force, ...file }: ImportOptions,
  progress: Progress,
): Promise<{ report: DirectoryReport; difference: Difference; digest: FileDigest }> {
  const staged = await stageFile(sql, source, DIRECTORY_LAYOUT, {
    ...file,
    signal: context.signal,
    progress,
  });
  progress.phase('comparing');
  // A dry run holds no lock, so other imports may replace and remove the generation.
  const { directory, difference } = await beginAgain(async () => {
    const directory = await readDirectory(sql);
    return { directory, difference: await compareStaged(sql, directory.current, replace) };
  });
  const { current } = directory;
  if (replace && !force && difference.rows < current.rows * SMALLEST_REPLACEMENT) {
    throw new RefusedError(
      `the file has ${count(difference.rows)} usable rows, under 90% of the directory's ${count(current.rows)}:` +
        ` nothing has changed; --force replaces the directory anyway`,
    );
  }
  const { read, rejected, reasons } = staged;
  const { imported, unchanged, removed } = difference;
  return {
    report: {
      read,
      imported,
      unchanged,
      rejected,
      removed,
      reasons,
      index: await searchedName(context, directory),
    },
    difference,
    digest: staged.file,
  };
}

/** The index or table that searches use. Its shards are not asked: an import mends an index that has lost them. */
async function searchedName(
  { elasticsearch }: DirectoryContext,
  { id, current: { indexName, tableName } }: Directory,
): Promise<string> {
  if (elasticsearch === null) return tableName;
  const isThere = indexName !== null && (await belongsToDirectory(elasticsearch, indexName, id));
  return isThere ? indexName : NO_INDEX;
}

/**
 * Builds the next generation and makes it current.
 * @returns the index that searches use then, or the table in embedded mode
 */
async function replaceGeneration(
  context: DirectoryContext,
  lock: DirectoryLock,
  directory: Directory,
  difference: Difference,
  { replace = false, file, digest }: ImportOptions & Omit<Load, 'rowsSha256'>,
  progress: Progress,
): Promise<string> {
  const { sql } = lock;
  const next = await nextGeneration(sql);
  const base = replace ? null : await normalizedBase(context, lock, directory.current, progress);
  progress.phase('storing the rows');
  await fillTable(sql, next.tableName, base);
  // In parallel with the indexing, which reads the table by its pages.
  const finishing = finishTable(sql, next.tableName);
  finishing.catch(() => {}); // awaited before the generation is made current
  const generation = {
    ...next,
    rows: difference.rows,
    normalization: normalizationFingerprint(),
    origin: 'import' as const,
    file,
    digest,
  };
  const index = await indexRows(context, lock, directory.id, generation, progress);
  await finishing;
  const rowsSha256 = await hashOfRows(sql, entriesOf(next.tableName));
  return publish(context, lock, directory, { ...generation, rowsSha256 }, index, progress);
}

/**
 * The present rows with this version's normalization, which an upgrade may have changed. They are read once, from end to end, so the
 * table has no index.
 */
async function normalizedBase(
  { signal }: DirectoryContext,
  { sql }: DirectoryLock,
  current: Generation,
  progress: Progress,
): Promise<string> {
  if (!isStale(current)) return current.tableName;
  const { tableName } = await nextGeneration(sql);
  await copyNormalized(sql, current, tableName, { signal, progress });
  return tableName;
}
