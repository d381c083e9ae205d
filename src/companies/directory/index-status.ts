import type { Client } from '@elastic/elasticsearch';
import { isNodeFault } from '../../platform/elasticsearch/nodes.ts';
import type { Progress } from '../../platform/terminal/progress.ts';
import { type Datasets, type DebtDataset, readDatasets } from '../datasets/datasets-store.ts';
import { readIndexMeta } from '../search/index-meta.ts';
import type { DirectoryContext } from './directory-context.ts';
import { plainError, withPlainErrors } from './failures.ts';
import { type Directory, type Generation, readDirectory } from './generations.ts';
import { countDocuments } from './indexing/indices.ts';
import { type LockHolder, readHolder } from './lock.ts';
import { tidyNow } from './tidy.ts';

/** The value of `index` if the current generation has none. */
export const NO_INDEX = '(none)';

/** The answer of `index rebuild` and `index rollback`. */
export interface IndexStatus {
  /** The current generation's index; in embedded mode its table. */
  index: string;
  /** The index or table that a rollback returns to, or `null`. */
  previous: string | null;
  documents: number;
}

export interface StatusReport extends Omit<IndexStatus, 'documents'> {
  /** The number of the current generation. */
  generation: number;
  /** The entries that searches find; `null` means that Elasticsearch doesn't answer. */
  documents: number | null;
  /** Whether these are as many as the generation has rows; `null` means that Elasticsearch doesn't answer. */
  agrees: boolean | null;
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
  const { sql, elasticsearch: client } = context;
  const running = await readHolder(sql);
  const directory = await readDirectory(sql);
  const { current, previous } = directory;
  const tidyAndCount = async () => {
    if (running === null && (await tidyNow(context))) progress.note('removed what a stopped run had left');
    if (client === null) return { name: current.tableName, documents: current.rows };
    return (await readIndex(client, directory, context.signal)) ?? { name: NO_INDEX, documents: 0 };
  };
  const counted = await tidyAndCount().catch((error) => {
    if (!isNodeFault(error)) throw error;
    progress.note(`warning: ${plainError(error, null).message}`);
    return null;
  });
  const { debts, ...datasets } = await readDatasets(sql);
  return {
    generation: current.id,
    index: counted?.name ?? nameOf(context, current),
    previous: previous && nameOf(context, previous),
    documents: counted?.documents ?? null,
    agrees: counted && counted.documents === current.rows,
    datasets: { ...datasets, debts: { tax: debts.tax, socialSecurity: debts['social-security'] } },
    running,
  };
}

/** The current generation's index as Elasticsearch has it; `null` if it is lost, or another directory's. */
export async function readIndex(
  client: Client,
  { id, current: { indexName: name } }: Directory,
  signal: AbortSignal,
) {
  const meta = name === null ? null : await readIndexMeta(client, name);
  if (name === null || meta?.directory !== id) return null;
  return { name, fingerprint: meta.fingerprint, documents: await countDocuments(client, name, signal) };
}

/** The directory after a change, whose index has just been checked. */
export async function changedStatus(context: DirectoryContext): Promise<IndexStatus> {
  const { current, previous } = await readDirectory(context.sql);
  return {
    index: nameOf(context, current),
    previous: previous && nameOf(context, previous),
    documents: current.rows,
  };
}

function nameOf({ elasticsearch }: DirectoryContext, { indexName, tableName }: Generation): string {
  return elasticsearch === null ? tableName : (indexName ?? NO_INDEX);
}
