import { RefusedError } from '../../platform/errors.ts';
import { withDedicated } from '../../platform/postgres/dedicated.ts';
import type { CommandTools } from '../../platform/terminal/command.ts';
import { count, type Progress } from '../../platform/terminal/progress.ts';
import { DAY } from '../../platform/units.ts';
import type { ImportReport } from '../ingest/import-command.ts';
import type { RowSource } from '../ingest/source.ts';
import { type FileOptions, SMALLEST_REPLACEMENT, stageFile } from '../ingest/staging.ts';
import { compareStagedDebts, type DebtDifference } from './difference.ts';
import { DEBTS_LAYOUT } from './file-layout.ts';
import type { DebtKind } from './kind.ts';

export interface DebtsImportOptions extends FileOptions {
  kind: DebtKind;
  /** The dataset's own date, `YYYY-MM-DD`. */
  date: string;
  /** How many refusals of a suspicious file are overridden ({@link refuseSuspicious}). */
  force?: number | undefined;
}

interface DebtsReport extends ImportReport, Pick<DebtDifference, 'appeared' | 'changed' | 'ended'> {}

/**
 * Replaces the whole dataset of one kind by a file's rows (docs/imports.md: files), in one transaction: lookups see the old
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

/**
 * Refuses a dataset whose date is suspicious, or which would end the brackets of over a tenth of the companies, as a file does
 * that was cut off. Readers of the changes would get each of these ends.
 *
 * Each `--force` overrides one refusal, in this order. So an older file that is forced is still refused for its ends.
 * @throws RefusedError
 */
function refuseSuspicious(
  difference: DebtDifference,
  { kind, date, force = 0 }: { kind: DebtKind; date: string; force?: number | undefined },
): void {
  const suspicions = [...suspiciousDate(difference, kind, date), ...suspiciousEnds(difference, kind)];
  const suspicion = suspicions[force];
  if (suspicion === undefined) return;
  const more = force === 0 ? '--force' : 'one more --force';
  throw new RefusedError(`${suspicion.reason}: nothing has changed; ${more} ${suspicion.outcome}`);
}

interface Suspicion {
  reason: string;
  /** The effect of `--force`. */
  outcome: string;
}

function suspiciousDate({ presentDate }: DebtDifference, kind: DebtKind, date: string): Suspicion[] {
  // A mistyped year would be shown to customers, and refuse every right file after it.
  if (date > new Date(Date.now() + DAY).toISOString().slice(0, 10)) {
    return [{ reason: `${date} is after tomorrow`, outcome: 'imports the dataset of that date' }];
  }
  if (presentDate === null || date >= presentDate) return [];
  return [
    {
      reason: `the ${kind} dataset is of ${presentDate}, later than ${date}`,
      outcome: 'imports the older one',
    },
  ];
}

function suspiciousEnds(
  { present, kept, appeared, changed, ended }: DebtDifference,
  kind: DebtKind,
): Suspicion[] {
  if (kept >= present * SMALLEST_REPLACEMENT) return [];
  return [
    {
      reason: `the file has ${count(kept)} of the ${count(present)} companies of the ${kind} dataset, under 90%`,
      outcome: `replaces the dataset nevertheless (appeared ${count(appeared)}, changed ${count(changed)}, ended ${count(ended)})`,
    },
  ];
}
