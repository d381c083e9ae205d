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
import type { DirectoryContext } from './directory-context.ts';
import { DIRECTORY_LAYOUT } from './directory-layout.ts';
import { withPlainErrors } from './failures.ts';
import {
  confirmLoad,
  type Directory,
  entriesOf,
  isStale,
  type LoadedFile,
  nextGeneration,
  readDirectory,
} from './generations.ts';
import { NO_INDEX, openIndexStore } from './index-store.ts';
import type { DirectoryLock } from './lock.ts';
import { publish } from './publish.ts';
import { replaceIndex } from './rebuild.ts';
import { compareStaged, type Difference, fillTable, renormalize, withStaged } from './tables.ts';
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
    const load = { file: 'path' in source ? basename(source.path) : '-', digest };
    if (difference.imported + difference.removed > 0) {
      const { replace = false } = options;
      report.index = await replaceGeneration(context, lock, directory, difference, replace, load, progress);
      return report;
    }
    const rowsSha256 = await hashOfRows(lock.sql, entriesOf(directory.current.table));
    await confirmLoad(lock, directory, { ...load, rowsSha256 }, context.actor);
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
  const store = openIndexStore(context);
  return {
    report: {
      read,
      imported,
      unchanged,
      rejected,
      removed,
      reasons,
      index: (await store.isReady(directory.id, current)) ? store.nameOf(current) : NO_INDEX,
    },
    difference,
    digest: staged.file,
  };
}

/**
 * Builds the next generation and makes it current.
 * @returns the index that searches use then, or the table in embedded mode
 */
async function replaceGeneration(
  context: DirectoryContext,
  lock: DirectoryLock,
  directory: Directory,
  { rows }: Difference,
  replace: boolean,
  load: LoadedFile,
  progress: Progress,
): Promise<string> {
  const { sql } = lock;
  const { current } = directory;
  const next = { ...(await nextGeneration(sql)), rows };
  let base = replace ? null : current.table;
  // An upgrade may have changed the normalization of the present rows.
  if (base !== null && isStale(current))
    base = await renormalize(sql, current, { signal: context.signal, progress });
  progress.phase('storing the rows');
  await fillTable(sql, next.table, withStaged(base));
  return publish(context, lock, directory, next, load, progress);
}
