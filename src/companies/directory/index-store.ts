/** The indexes by which a directory is searched, in either store. */
import type { Sql } from '../../platform/postgres/connect.ts';
import type { Progress } from '../../platform/terminal/progress.ts';
import type { CurrentGeneration } from '../search/current.ts';
import { mappingFingerprint } from '../search/document.ts';
import { belongsToDirectory, readIndexMeta } from '../search/index-meta.ts';
import type { DirectoryContext } from './directory-context.ts';
import type { Directory } from './generations.ts';
import { buildIndex } from './indexing/build-index.ts';
import { isSearchable } from './indexing/copies.ts';
import { countDocuments } from './indexing/indices.ts';
import type { DirectoryLock } from './lock.ts';
import { buildSearchIndexes, hasSearchIndexes } from './tables.ts';

/** The name of an index if there is none. */
export const NO_INDEX = '(none)';

/** The current generation's index, as its store has it. */
interface IndexState {
  name: string;
  documents: number;
  /** A few words say what is wrong with the index. `null` means that it has no fault. */
  fault: string | null;
}

/** Elasticsearch has an index of each generation. In embedded mode a generation's table has indexes of its own. */
export interface IndexStore {
  /** The name of a generation's index; in embedded mode that of its table. */
  nameOf(generation: Pick<CurrentGeneration, 'table' | 'index'>): string;
  /**
   * Makes the rows of a table searchable.
   * @returns the name of the index; `null` in embedded mode
   * @throws the error of Elasticsearch
   */
  build(
    lock: DirectoryLock,
    directoryId: string,
    of: Pick<CurrentGeneration, 'table' | 'rows'>,
    progress: Progress,
  ): Promise<string | null>;
  /** Whether searches find what a generation has: its index is there, is this directory's, and can be asked. */
  isReady(directoryId: string, generation: Pick<CurrentGeneration, 'table' | 'index'>): Promise<boolean>;
  check(directory: Directory): Promise<IndexState>;
}

/** The configured store. */
export function openIndexStore({ elasticsearch, sql, config, signal }: DirectoryContext): IndexStore {
  if (elasticsearch === null) return createTableIndexes(sql);
  return {
    nameOf: ({ index }) => index ?? NO_INDEX,
    build: (_, directoryId, of, progress) =>
      buildIndex(elasticsearch, sql, {
        prefix: config.elasticsearchPrefix,
        directoryId,
        of,
        signal,
        progress,
      }),
    async isReady(directoryId, { index }) {
      if (index === null || !(await belongsToDirectory(elasticsearch, index, directoryId))) return false;
      return isSearchable(elasticsearch, index);
    },
    async check({ id, current: { index, rows } }) {
      const meta = index === null ? null : await readIndexMeta(elasticsearch, index);
      if (index === null || meta?.directory !== id)
        return { name: NO_INDEX, documents: 0, fault: 'there is no search index' };
      const documents = await countDocuments(elasticsearch, index, signal);
      const fault =
        meta.fingerprint !== mappingFingerprint()
          ? 'the search index was built by another version'
          : documents !== rows
            ? `the search index has ${documents} entries, the directory ${rows}`
            : null;
      return { name: index, documents, fault };
    },
  };
}

function createTableIndexes(sql: Sql): IndexStore {
  const isReady = (_: unknown, { table }: Pick<CurrentGeneration, 'table'>) => hasSearchIndexes(sql, table);
  return {
    nameOf: ({ table }) => table,
    async build(lock, _, { table }, progress) {
      progress.phase('indexing');
      await buildSearchIndexes(lock.sql, table);
      return null;
    },
    isReady,
    async check({ id, current }) {
      const fault = (await isReady(id, current))
        ? null
        : 'the directory has no indexes for searches in Postgres yet';
      return { name: current.table, documents: current.rows, fault };
    },
  };
}
