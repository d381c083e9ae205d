import { isNodeFault } from '../../platform/elasticsearch/nodes.ts';
import type { Progress } from '../../platform/terminal/progress.ts';
import { type Datasets, type DebtDataset, readDatasets } from '../datasets/datasets-store.ts';
import type { DirectoryContext } from './directory-context.ts';
import { plainError, withPlainErrors } from './failures.ts';
import { readDirectory } from './generations.ts';
import { openIndexStore } from './index-store.ts';
import { type LockHolder, readHolder } from './lock.ts';
import { tidyNow } from './tidy.ts';

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
  return withPlainErrors(async () => {
    const { sql } = context;
    const running = await readHolder(sql);
    const directory = await readDirectory(sql);
    const store = openIndexStore(context);
    const tidyAndCheck = async () => {
      if (running === null && (await tidyNow(context))) progress.note('removed what a stopped run had left');
      return store.check(directory);
    };
    const checked = await tidyAndCheck().catch((error) => {
      if (!isNodeFault(error)) throw error;
      progress.note(`warning: ${plainError(error, null).message}`);
      return null;
    });
    const { current, previous } = directory;
    const { debts, ...datasets } = await readDatasets(sql);
    return {
      generation: current.id,
      index: checked?.name ?? store.nameOf(current),
      previous: previous && store.nameOf(previous),
      documents: checked?.documents ?? null,
      agrees: checked && checked.documents === current.rows,
      datasets: { ...datasets, debts: { tax: debts.tax, socialSecurity: debts['social-security'] } },
      running,
    };
  }, null);
}

/** The directory after a change, whose index has just been checked. */
export async function changedStatus(context: DirectoryContext): Promise<IndexStatus> {
  const { current, previous } = await readDirectory(context.sql);
  const { nameOf } = openIndexStore(context);
  return { index: nameOf(current), previous: previous && nameOf(previous), documents: current.rows };
}
