import { RefusedError } from '../errors.ts';
import type { ImportReport } from '../ingest/import-command.ts';
import type { RowSource } from '../ingest/source.ts';
import {
  type FileOptions,
  SMALLEST_REPLACEMENT,
  STAGING,
  type StagingPlan,
  stageFile,
} from '../ingest/staging.ts';
import { withDedicated } from '../postgres/dedicated.ts';
import type { Tools } from '../terminal/command.ts';
import { count, type Progress } from '../terminal/progress.ts';
import { DAY } from '../units.ts';
import type { DebtKind } from './debt.ts';

export interface DebtsImportOptions extends FileOptions {
  kind: DebtKind;
  /** The dataset's own date, `YYYY-MM-DD`. */
  date: string;
  /** Import an older file too, one of the future, or one that would keep far fewer of the present rows. */
  force?: boolean | undefined;
}

/**
 * Replaces the whole dataset of one kind by a file's rows (contract, Files), in one transaction: lookups see the old
 * dataset or the new one.
 *
 * @returns `imported` counts the dataset's brackets, `removed` the companies that are no longer in it
 * @throws FileError when the file can't be read
 * @throws RefusedError when no row is usable, or, without `force`, when the file looks cut off, is older than the dataset, or is of
 * a date after tomorrow (UTC)
 */
export function importDebts(
  tools: Pick<Tools, 'sql' | 'signal' | 'actor'>,
  source: RowSource,
  { kind, date, force, dryRun, ...file }: DebtsImportOptions,
  progress: Progress,
): Promise<ImportReport> {
  return withDedicated(tools, async (sql, changed) => {
    // A mistyped year would be shown to customers, and refuse every right file after it.
    if (!force && date > new Date(Date.now() + DAY).toISOString().slice(0, 10)) {
      throw new RefusedError(
        `${date} is after tomorrow: nothing has changed; --force imports the dataset of that date`,
      );
    }
    const { read, usable, rejected, reasons } = await stageFile(sql, source, DEBTS_PLAN, {
      ...file,
      signal: tools.signal,
      progress,
    });
    progress.phase('storing the brackets');
    const removed = await sql.begin(async (transaction) => {
      // The guard must compare with the rows that are replaced. Readers aren't blocked.
      if (!dryRun) await transaction`LOCK TABLE debt_datasets IN SHARE ROW EXCLUSIVE MODE`;
      const [row] = await transaction<{ present: number; kept: number; presentDate: string | null }[]>`
        SELECT count(*) AS present, count(staged.nif) AS kept,
          (SELECT dataset_date::text FROM debt_datasets WHERE kind = ${kind}) AS "presentDate"
        FROM debts LEFT JOIN ${transaction(STAGING)} staged USING (nif) WHERE debts.kind = ${kind}`;
      const { present, kept, presentDate } = row!;
      if (!force) {
        if (presentDate !== null && date < presentDate) {
          throw new RefusedError(
            `the ${kind} dataset is of ${presentDate}, later than ${date}: nothing has changed; --force imports the older one`,
          );
        }
        if (kept < present * SMALLEST_REPLACEMENT) {
          throw new RefusedError(
            `the file has ${count(kept)} of the ${count(present)} companies of the ${kind} dataset, under 90%:` +
              ' nothing has changed; --force replaces the dataset nevertheless',
          );
        }
      }
      if (!dryRun) await transaction`SELECT replace_debts(${kind}, ${date}, ${tools.actor})`;
      return present - kept;
    });
    await changed();
    return { read, imported: usable, rejected, removed, reasons };
  });
}

/** How a file of debt brackets is read (contract, Files). */
export const DEBTS_PLAN: StagingPlan = {
  columns: ['start', 'end'],
  definition: ['start_amount bigint', 'end_amount bigint'],
  read(_nif, [startText, endText]) {
    const start = readAmount(startText ?? '');
    if (start === null) return { reason: 'start is not a whole amount' };
    const endGiven = (endText ?? '').trim();
    // Exports write an absent value as the word, too.
    if (endGiven === '' || endGiven.toLowerCase() === 'null') return { fields: `${start}\t\\N` };
    const end = readAmount(endGiven);
    if (end === null) return { reason: 'end is not a whole amount' };
    if (end < start) return { reason: 'bracket upside down' };
    return { fields: `${start}\t${end}` };
  },
};

/** A whole amount of money in plain digits, at most 2^53 - 1; `null` if it is not one. */
function readAmount(text: string): number | null {
  const trimmed = text.trim();
  if (!/^\d{1,30}$/.test(trimmed)) return null;
  const amount = Number(trimmed);
  return Number.isSafeInteger(amount) ? amount : null;
}
