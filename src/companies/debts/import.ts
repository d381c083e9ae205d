import { withDedicated } from '../../platform/postgres/dedicated.ts';
import type { CommandTools } from '../../platform/terminal/command.ts';
import type { Progress } from '../../platform/terminal/progress.ts';
import type { ImportReport } from '../ingest/import-command.ts';
import type { RowSource } from '../ingest/source.ts';
import { type FileOptions, stageFile } from '../ingest/staging.ts';
import { compareStagedDebts, type DebtDifference } from './difference.ts';
import { DEBTS_LAYOUT } from './file-layout.ts';
import { refuseSuspicious } from './guard.ts';
import type { DebtKind } from './kind.ts';

export interface DebtsImportOptions extends FileOptions {
  kind: DebtKind;
  /** The dataset's own date, `YYYY-MM-DD`. */
  date: string;
  /** How many refusals of a suspicious file are overridden (guard.ts). */
  force?: number | undefined;
}

interface DebtsReport extends ImportReport, Pick<DebtDifference, 'appeared' | 'changed' | 'ended'> {}

/**
 * Replaces the whole dataset of one kind by a file's rows (contract, Files), in one transaction: lookups see the old
 * dataset or the new one. The same transaction writes the changes since the old one.
 *
 * @returns `imported` counts the dataset's brackets, `removed` the companies that are no longer in it
 * @throws FileError when the file can't be read
 * @throws RefusedError when no row is usable, or, without `force`, when the file looks cut off, is older than the dataset, or is of
 * a date after tomorrow (UTC)
 */
export function importDebts(
  tools: Pick<CommandTools, 'databaseUrl' | 'sql' | 'signal' | 'actor'>,
  source: RowSource,
  { kind, date, force, dryRun, ...file }: DebtsImportOptions,
  progress: Progress,
): Promise<DebtsReport> {
  return withDedicated(tools, async (sql, committed) => {
    const { read, usable, rejected, reasons } = await stageFile(sql, source, DEBTS_LAYOUT, {
      ...file,
      signal: tools.signal,
      progress,
    });
    progress.phase('storing the brackets');
    const { present, kept, appeared, changed, ended } = await sql.begin(async (transaction) => {
      // The guard must compare with the rows that are replaced. Readers aren't blocked.
      if (!dryRun) await transaction`LOCK TABLE debt_datasets IN SHARE ROW EXCLUSIVE MODE`;
      const difference = await compareStagedDebts(transaction, kind);
      refuseSuspicious(difference, { kind, date, force });
      if (!dryRun) await transaction`SELECT replace_debts(${kind}, ${date}, ${tools.actor})`;
      return difference;
    });
    await committed();
    const removed = present - kept;
    return { read, imported: usable, rejected, removed, appeared, changed, ended, reasons };
  });
}
