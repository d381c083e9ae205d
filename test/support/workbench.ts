import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SniffingTransport } from '@elastic/elasticsearch';
import type { DirectoryContext } from '../../src/companies/directory/directory-context.ts';
import {
  type DirectoryReport,
  type ImportOptions,
  importCompanies,
} from '../../src/companies/directory/directory-import.ts';
import { readDirectory } from '../../src/companies/directory/generations.ts';
import { changedStatus, type IndexStatus } from '../../src/companies/directory/index-status.ts';
import { NO_INDEX } from '../../src/companies/directory/index-store.ts';
import { rebuildIndex, rollbackIndex } from '../../src/companies/directory/rebuild.ts';
import { createElasticsearch } from '../../src/platform/elasticsearch/client.ts';
import { urlOf } from '../servers/shared.ts';
import { copyTestDatabase, createTestDatabase, type TestDatabase } from './database.ts';
import type { Mode } from './modes.ts';
import { NO_PROGRESS } from './progress.ts';
import { searchEntries, searchOf } from './search-entries.ts';
import { createTestIndexAlias } from './search-index.ts';

export type Workbench = Awaited<ReturnType<typeof createWorkbench>>;

export interface WorkbenchOptions {
  /** Another way to Elasticsearch, e.g. through a proxy. */
  elasticsearchUrl?: string;
  signal?: AbortSignal;
  /** A copy of its database, with the same prefix. */
  copyOf?: { database: TestDatabase; alias: string };
}

/** Retries without the client's pauses of seconds, so that a test of an outage takes none. */
class ImpatientTransport extends SniffingTransport {
  constructor(options: ConstructorParameters<typeof SniffingTransport>[0]) {
    super({ ...options, retryBackoff: () => 0 });
  }
}

/** Makes a separate directory: database, prefix of indices, folder for files, and the operations on it. */
export async function createWorkbench(mode: Mode, options: WorkbenchOptions = {}) {
  const { copyOf } = options;
  const database = await (copyOf === undefined
    ? createTestDatabase(`directory_${mode}`)
    : copyTestDatabase(copyOf.database));
  const { alias, cleanup } =
    copyOf === undefined ? createTestIndexAlias() : { alias: copyOf.alias, cleanup: async () => {} };
  const folder = await mkdtemp(join(tmpdir(), 'directory-test-'));
  const elasticsearch =
    mode === 'full'
      ? createElasticsearch({
          elasticsearchUrl: options.elasticsearchUrl ?? urlOf('elasticsearch'),
          elasticsearchApiKey: null,
        })!.child({
          Transport: ImpatientTransport,
        })
      : null;
  const tools: DirectoryContext = {
    config: { elasticsearchPrefix: alias },
    databaseUrl: database.url,
    sql: database.sql,
    elasticsearch,
    signal: options.signal ?? new AbortController().signal,
    actor: 'test',
  };
  const path = (name: string) => join(folder, name);
  const write = async (name: string, text: string | Uint8Array) => {
    await Bun.write(path(name), text);
    return path(name);
  };
  const importFile = (file: string, given: Partial<ImportOptions> = {}) =>
    importCompanies(tools, { path: file }, { ...given }, NO_PROGRESS);
  const close = async () => {
    await elasticsearch?.close();
    if (mode === 'full') await cleanup();
    await rm(folder, { recursive: true, force: true });
    await database.drop();
  };
  return {
    mode,
    tools,
    database,
    alias,
    importFile,
    /** Writes a file and imports it. */
    importText: async (
      text: string,
      given?: Partial<ImportOptions>,
      fileName = `${randomUUID()}.csv`,
    ): Promise<DirectoryReport> => importFile(await write(fileName, text), given),
    rebuild: () => rebuildIndex(tools, NO_PROGRESS),
    rollback: () => rollbackIndex(tools, NO_PROGRESS),
    status: () => statusOf(tools),
    /** The entries that consumers find, as `NIF name`. */
    async search(query: string): Promise<string[]> {
      const found = await searchEntries(searchOf(database.sql, tools.elasticsearch), query);
      return found.map(({ nif, legalName }) => `${nif} ${legalName}`);
    },
    /** Postgres's directory, as `NIF name`, by NIF. */
    async rows(): Promise<string[]> {
      const { table } = (await readDirectory(database.sql)).current;
      const rows = await database.sql<{ nif: string; legal_name: string }[]>`
        SELECT nif, legal_name FROM ${database.sql(table)} ORDER BY nif`;
      return rows.map(({ nif, legal_name }) => `${nif} ${legal_name}`);
    },
    path,
    write,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** As after a change, with the documents that the index has. Leftovers stay. */
async function statusOf(tools: DirectoryContext): Promise<IndexStatus> {
  const status = await changedStatus(tools);
  if (tools.elasticsearch === null || status.index === NO_INDEX) return status;
  const { count } = await tools.elasticsearch.count({ index: status.index });
  return { ...status, documents: count };
}

/** The names of the indices with its prefix that Elasticsearch has. */
export async function indicesOf({ alias }: Pick<Workbench, 'alias'>): Promise<string[]> {
  const answer = await fetch(`${urlOf('elasticsearch')}/_cat/indices/${alias}-*?h=index&format=json`);
  return ((await answer.json()) as { index: string }[]).map(({ index }) => index).sort();
}

/** The tables of generations. */
export const tablesOf = (bench: Pick<Workbench, 'database'>) => namesLike(bench, '^directory_g0[0-9]+$');

/** The vocabularies of generations. */
export const vocabulariesOf = (bench: Pick<Workbench, 'database'>) =>
  namesLike(bench, '^directory_g0[0-9]+_vocabulary$');

async function namesLike({ database }: Pick<Workbench, 'database'>, pattern: string): Promise<string[]> {
  const rows = await database.sql<{ name: string }[]>`
    SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relname ~ ${pattern} ORDER BY relname`;
  return rows.map(({ name }) => name);
}
