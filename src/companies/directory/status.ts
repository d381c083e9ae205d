import { isNodeFault } from '../../platform/elasticsearch/nodes.ts';
import { beginAgain } from '../../platform/postgres/begin-again.ts';
import { quoted } from '../../platform/postgres/identifier.ts';
import type { Progress } from '../../platform/terminal/progress.ts';
import { type Datasets, type DebtDataset, readDatasets } from '../datasets/store.ts';
import type { DirectoryContext } from './context.ts';
import { plainError, withPlainErrors } from './failures.ts';
import { collectGarbageNow } from './garbage.ts';
import { type Directory, type Generation, readDirectory } from './generations.ts';
import { aliasTargets, foreignIndices } from './indexing/alias.ts';
import { countDocuments } from './indexing/indices.ts';
import { type LockHolder, readHolder } from './lock.ts';

/** The value of `index` if there is none. */
const NO_INDEX = '(none)';
/** The value of `index` if it can't be asked for. */
const UNKNOWN_INDEX = "(Elasticsearch doesn't answer)";

/** The answer of `index status`, `index rebuild` and `index rollback`. */
export interface IndexStatus {
  /** The alias's index; in embedded mode the current generation's table. */
  index: string;
  /** The index or table that a rollback returns to, or `null`. */
  previous: string | null;
  /** `null` means that Elasticsearch doesn't answer; only the report of `index status` has that. */
  documents: number | null;
  /** The number of rows that searches don't see yet and of old entries that they still see; absent if there are none. */
  drift?: number;
}

export interface StatusReport extends IndexStatus {
  /** The table of Postgres's current generation. */
  table: string;
  /** The consequence of the drift for searches; absent if there is no drift. */
  driftMeans?: string;
  datasets: Pick<Datasets, 'directory'> & {
    /** With a member for each kind, in the case of the other members. */
    debts: { tax: DebtDataset | null; socialSecurity: DebtDataset | null };
  };
  running: LockHolder | null;
}

/**
 * A report on the directory. While Elasticsearch doesn't answer, it has what Postgres knows, because operators need it most then.
 * Removes what a dead run has left, unless a run changes the directory now.
 */
export function statusReport(
  context: DirectoryContext,
  progress: Pick<Progress, 'note'>,
): Promise<StatusReport> {
  return withPlainErrors(() => readReport(context, progress), null);
}

async function readReport(
  context: DirectoryContext,
  progress: Pick<Progress, 'note'>,
): Promise<StatusReport> {
  const running = await readHolder(context.sql);
  const status = await indexStatus(context).catch(async (error): Promise<IndexStatus> => {
    if (!isNodeFault(error)) throw error;
    progress.note(`warning: ${plainError(error, null).message}`);
    const { previous } = await readDirectory(context.sql);
    return { index: UNKNOWN_INDEX, previous: nameOf(previous), documents: null };
  });
  const isKnown = status.documents !== null;
  if (isKnown && running === null && (await collectGarbageNow(context))) {
    progress.note('removed what a stopped run had left');
  }
  const directory = await readDirectory(context.sql);
  const means =
    status.drift === undefined ? {} : { driftMeans: await meaningOf(context, status.index, directory) };
  const { debts, ...datasets } = await readDatasets(context.sql);
  return {
    ...status,
    table: directory.current.tableName,
    ...means,
    datasets: { ...datasets, debts: { tax: debts.tax, socialSecurity: debts['social-security'] } },
    running,
  };
}

async function meaningOf(context: DirectoryContext, index: string, directory: Directory): Promise<string> {
  const { current, previous } = directory;
  if (index === NO_INDEX) return 'searches have no index and fail';
  if (await isForeign(context, index, directory)) return 'searches see the directory of another database';
  if (index === previous?.indexName) return 'searches still see the directory before the last import';
  if (index === current.indexName) return 'the index has lost or gained entries since it was built';
  return 'searches see another directory than the one in Postgres';
}

/** Whether the index belongs to another database. A copy of a database names its original's index as its own. */
async function isForeign(
  { elasticsearch }: DirectoryContext,
  index: string,
  { id }: Directory,
): Promise<boolean> {
  if (elasticsearch === null || index === NO_INDEX) return false;
  return (await foreignIndices(elasticsearch, [index], id)).length > 0;
}

/** The index or table that searches use now. */
export async function servedIndex(
  { elasticsearch, config }: DirectoryContext,
  { current }: Directory,
): Promise<string> {
  if (elasticsearch === null) return current.tableName;
  return (await aliasTargets(elasticsearch, config.elasticsearchAlias))[0] ?? NO_INDEX;
}

export function indexStatus(context: DirectoryContext): Promise<IndexStatus> {
  // It reads tables of generations without the lock.
  return beginAgain(() => readStatus(context));
}

async function readStatus(context: DirectoryContext): Promise<IndexStatus> {
  const { sql, elasticsearch } = context;
  const directory = await readDirectory(sql);
  const { current, previous } = directory;
  if (elasticsearch === null) {
    const [row] = await sql.unsafe<{ documents: number }[]>(
      `SELECT count(*) AS documents FROM ${quoted(current.tableName)}`,
    );
    return { index: current.tableName, previous: previous?.tableName ?? null, documents: row!.documents };
  }
  const index = await servedIndex(context, directory);
  const documents = index === NO_INDEX ? 0 : await countDocuments(elasticsearch, index, context.signal);
  const drift = (await isForeign(context, index, directory))
    ? current.rows + documents
    : await driftOf(context, directory, { index, documents });
  return {
    index,
    previous: nameOf(previous),
    documents,
    ...(drift > 0 ? { drift } : {}),
  };
}

const nameOf = (previous: Generation | null) => previous && (previous.indexName ?? previous.tableName);

async function driftOf(
  { sql }: DirectoryContext,
  { current }: Directory,
  { index, documents }: { index: string; documents: number },
): Promise<number> {
  if (current.indexName === index) return Math.abs(current.rows - documents);
  const [generation] = await sql<Pick<Generation, 'tableName'>[]>`
    SELECT table_name AS "tableName" FROM directory_generations WHERE index_name = ${index}`;
  // All rows are missing from an empty first index, and from none.
  if (generation === undefined) return current.rows;
  const [row] = await sql.unsafe<{ drift: number }[]>(`
    SELECT count(*) AS drift FROM ${quoted(current.tableName)} wanted
    FULL JOIN ${quoted(generation.tableName)} served USING (nif)
    WHERE wanted.legal_name IS DISTINCT FROM served.legal_name`);
  return row!.drift;
}
