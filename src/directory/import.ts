import { basename } from 'node:path';
import { normalizationFingerprint } from '../companies/name.ts';
import { RefusedError } from '../errors.ts';
import { type RowSource, requireReadable } from '../ingest/source.ts';
import { type FileOptions, SMALLEST_REPLACEMENT, stageFile } from '../ingest/staging.ts';
import type { Sql } from '../postgres/connect.ts';
import { withDedicated } from '../postgres/dedicated.ts';
import { isSessionLost } from '../postgres/session-watch.ts';
import { count, type Progress } from '../terminal/progress.ts';
import { type BuiltIndex, buildIndex, takesChanges } from './build-index.ts';
import { changesSince, DIRECTORY_PLAN } from './entries.ts';
import { collectGarbage, tidyUp } from './garbage.ts';
import {
  confirmLoad,
  type Directory,
  type Generation,
  makeCurrent,
  nextGeneration,
  readDirectory,
} from './generations.ts';
import { isOurs, pointAlias } from './indices.ts';
import { type DirectoryLock, withDirectoryLock } from './lock.ts';
import { buildAnew } from './rebuild.ts';
import { failureOf, orLater, orUnchanged, reconcile } from './reconcile.ts';
import { NO_INDEX, serving } from './status.ts';
import { DRY_RUN_STEPS, importSteps } from './steps.ts';
import {
  buildSearchIndexes,
  compareStaged,
  copyNormalized,
  type Difference,
  fillTable,
  finishTable,
} from './tables.ts';
import type { DirectoryTools } from './tools.ts';

export interface ImportOptions extends FileOptions {
  /** The file is the whole directory: companies that it doesn't have go. */
  replace: boolean;
  /** With `replace`: also when far fewer would be left. */
  force: boolean;
  /** Read, compare and report, and change nothing. */
  dryRun: boolean;
}

/** What an import did. `--json` answers all of it but `dryRun`. */
export interface ImportReport {
  read: number;
  /** New, or with a changed name. */
  imported: number;
  unchanged: number;
  rejected: number;
  /** In the directory before, but not in the file that replaced it. */
  removed: number;
  /** What serves searches: an index, or a table in embedded mode. */
  index: string;
  /** How many rows were rejected why. */
  reasons: Map<string, number>;
  milliseconds: number;
  dryRun: boolean;
}

/** From this line on it is too late to stop. */
const SERVES = 'searches see the new directory';

/**
 * Imports a directory file (contract, Files). Readers see the old directory until the new one is complete in every
 * respect; a run that fails or dies changes nothing that they see.
 *
 * @throws FileError when the file can't be read; RefusedError, in one line, when nothing usable is in it, when it would
 * wipe the directory, when another process changes the directory, or when Elasticsearch failed
 */
export async function importCompanies(
  tools: DirectoryTools,
  source: RowSource,
  options: ImportOptions,
  progress: Progress,
): Promise<ImportReport> {
  if (options.dryRun) {
    progress.plan(DRY_RUN_STEPS);
    return withDedicated(tools, async (sql) => {
      const directory = await readDirectory(sql);
      const { report } = await readAndCompare(tools, sql, directory, source, options, progress);
      return report;
    });
  }
  // A wrong name is told at once, not when the lock is free.
  await requireReadable(source);
  const work = async (lock: DirectoryLock) => {
    const directory = await reconcile(tools, lock);
    await orUnchanged(() => collectGarbage(tools, lock));
    const startedAt = Date.now();
    const isEmbedded = tools.elasticsearch === null;
    // Most loads change little of a directory. What is known after the comparison corrects it.
    progress.plan(importSteps(isEmbedded ? 'postgres' : directory.current.rows === 0 ? 'all' : 'changes'));
    const { report, difference } = await readAndCompare(
      tools,
      lock.sql,
      directory,
      source,
      options,
      progress,
    );
    const changes = difference.imported + difference.removed;
    const file = 'path' in source ? basename(source.path) : '-';
    if (changes === 0) await confirmLoad(lock, directory, file, tools.actor);
    const isIndexed = await isServed(tools, directory);
    if (changes > 0 || !isIndexed) {
      try {
        if (changes > 0)
          await replaceGeneration(tools, lock, directory, difference, { ...options, file }, progress);
        // The same file again after Elasticsearch failed: it gets what it lacks.
        else await buildAnew(tools, lock, directory, progress, 'import');
      } finally {
        // What a failed run has begun, and what is older than the last two.
        await tidyUp(tools, lock, progress);
      }
      // Not asked of Elasticsearch: the alias was moved, and an answer that fails now would be taken for the import's.
      const { current } = await readDirectory(lock.sql);
      report.index = tools.elasticsearch === null ? current.tableName : (current.indexName ?? NO_INDEX);
    }
    return { ...report, milliseconds: Date.now() - startedAt };
  };
  return withDirectoryLock(tools, 'companies import', work, { progress });
}

/** Reads the file into the staging table and compares it with the directory. Changes nothing. */
async function readAndCompare(
  tools: DirectoryTools,
  sql: Sql,
  { current }: Directory,
  source: RowSource,
  { replace, force, dryRun, ...file }: ImportOptions,
  progress: Progress,
): Promise<{ report: ImportReport; difference: Difference }> {
  const startedAt = Date.now();
  const staged = await stageFile(sql, source, DIRECTORY_PLAN, { ...file, signal: tools.signal, progress });
  progress.phase('comparing');
  const difference = await compareStaged(sql, current.tableName, { replace, present: current.rows });
  if (replace && !force && difference.rows < current.rows * SMALLEST_REPLACEMENT) {
    throw new RefusedError(
      `the file has ${count(difference.rows)} usable rows, under 90% of the directory's ${count(current.rows)}:` +
        ` nothing has changed; --force replaces the directory anyway`,
    );
  }
  const { index } = await serving(tools, orUnchanged);
  const report: ImportReport = {
    read: staged.read,
    imported: difference.imported,
    unchanged: difference.unchanged,
    rejected: staged.rejected,
    index,
    removed: difference.removed,
    reasons: staged.reasons,
    milliseconds: Date.now() - startedAt,
    dryRun,
  };
  return { report, difference };
}

/** Whether searches go to the current generation's own index. */
async function isServed(tools: DirectoryTools, { id, current }: Directory): Promise<boolean> {
  const { elasticsearch: client } = tools;
  if (client === null) return true;
  if (current.indexName === null || (await serving(tools, orUnchanged)).index !== current.indexName)
    return false;
  return isOurs(client, current.indexName, id);
}

/** Builds the next generation and makes it current. */
async function replaceGeneration(
  tools: DirectoryTools,
  lock: DirectoryLock,
  directory: Directory,
  difference: Difference,
  { replace, file }: Pick<ImportOptions, 'replace'> & { file: string },
  progress: Progress,
): Promise<void> {
  const { sql } = lock;
  const { current } = directory;
  const changes = changesSince(sql, current.tableName, replace, difference);
  if (tools.elasticsearch !== null) {
    const isCopied = takesChanges({ generation: current, changes }, difference.rows);
    progress.plan(importSteps(isCopied ? 'changes' : 'all'));
  }
  const next = await nextGeneration(sql);
  const base = replace ? current.tableName : await normalizedBase(tools, lock, current, progress);
  progress.phase('storing the rows');
  await fillTable(sql, next.tableName, { base, replace, difference });
  // Beside the indexing, which reads the table by its pages.
  const finishing = finishTable(sql, next.tableName);
  finishing.catch(() => {}); // awaited before the generation is made current
  const generation = {
    ...next,
    rows: difference.rows,
    normalization: normalizationFingerprint(),
    origin: 'import' as const,
    file,
  };
  tools.signal.throwIfAborted();
  const { elasticsearch: client } = tools;
  if (client === null) {
    progress.phase('indexing');
    await finishing;
    await buildSearchIndexes(sql, next.tableName);
    tools.signal.throwIfAborted();
    await makeCurrent(lock, directory, generation, null, tools.actor);
    progress.note(SERVES);
    return;
  }
  let index: BuiltIndex;
  try {
    index = await buildIndex(tools, client, {
      directoryId: directory.id,
      generation: next.id,
      table: next.tableName,
      rows: difference.rows,
      progress,
      since: { generation: current, changes },
    });
    tools.signal.throwIfAborted();
  } catch (error) {
    tools.signal.throwIfAborted();
    if (isSessionLost(error)) throw error;
    await finishing;
    // The rows are complete: Postgres goes on with them, and the index follows (contract: index rebuild).
    await makeCurrent(lock, directory, generation, null, tools.actor);
    throw new RefusedError(
      `the rows are in Postgres, but Elasticsearch failed: ${failureOf(error)}: searches still see the old` +
        ` directory; run "index rebuild" when Elasticsearch is well`,
    );
  }
  await finishing;
  await makeCurrent(lock, directory, generation, index, tools.actor);
  await orLater('import', () => pointAlias(client, tools.config.elasticsearchAlias, index.name));
  progress.note(SERVES);
}

/** The present rows, normalized as this version does it. An upgrade may have changed that. */
async function normalizedBase(
  { signal }: DirectoryTools,
  { sql }: DirectoryLock,
  { tableName, normalization }: Generation,
  progress: Progress,
): Promise<string> {
  if (normalization === null || normalization === normalizationFingerprint()) return tableName;
  progress.phase('normalizing the present names again');
  const { tableName: copy } = await nextGeneration(sql);
  const onRows = (rows: number, fraction: number) => progress.update(rows, fraction);
  await copyNormalized(sql, tableName, copy, { signal, onRows });
  return copy;
}
