import { utcDay } from '../../platform/dates.ts';
import { RefusedError } from '../../platform/errors.ts';
import type { Transaction } from '../../platform/postgres/connect.ts';
import { hashOfRows } from '../../platform/postgres/copy.ts';
import { withDedicated } from '../../platform/postgres/dedicated.ts';
import type { CommandTools } from '../../platform/terminal/command.ts';
import { count, type Progress } from '../../platform/terminal/progress.ts';
import { DAY } from '../../platform/units.ts';
import type { ImportReport } from '../ingest/import-command.ts';
import type { RowSource } from '../ingest/source.ts';
import { type FileOptions, SMALLEST_REPLACEMENT, STAGING, stageFile } from '../ingest/staging.ts';
import { bracketsOf, DEBTS_LAYOUT } from './debts-layout.ts';
import type { DebtKind } from './kind.ts';

export interface DebtsImportOptions extends FileOptions {
  kind: DebtKind;
  /** The dataset's own date, `YYYY-MM-DD`. */
  date: string;
  /** How many refusals of a suspicious file are overridden ({@link refuseSuspicious}). */
  force?: number | undefined;
}

/** A staged file beside the present dataset of its kind. */
interface DebtDifference {
  /** The present dataset's date; `null` means that there is none. */
  presentDate: string | null;
  /** Companies in the present dataset. */
  present: number;
  /** Companies of the present dataset that the file has, too. */
  kept: number;
  /** The changes that an import would write: none for a first dataset, and none of natural persons. */
  appeared: number;
  changed: number;
  ended: number;
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
  { kind, date, force, dryRun, ...options }: DebtsImportOptions,
  progress: Progress,
): Promise<DebtsReport> {
  return withDedicated(tools, async (sql, committed) => {
    const { file, read, usable, rejected, reasons } = await stageFile(sql, source, DEBTS_LAYOUT, {
      ...options,
      signal: tools.signal,
      progress,
    });
    progress.phase('storing the brackets');
    // Of the staged rows, because they are the dataset then.
    const rows = dryRun ? null : await hashOfRows(sql, bracketsOf(STAGING));
    const { present, kept, appeared, changed, ended } = await sql.begin(async (transaction) => {
      // The guard must compare with the rows that are replaced. Readers aren't blocked.
      if (!dryRun) await transaction`LOCK TABLE debt_datasets IN SHARE ROW EXCLUSIVE MODE`;
      const difference = await compareStagedDebts(transaction, kind);
      refuseSuspicious(difference, { kind, date, force });
      if (dryRun) return difference;
      await transaction`SELECT replace_debts(${kind}, ${date}, ${tools.actor})`;
      await transaction`
        UPDATE debt_datasets SET file_sha256 = ${file.sha256}, file_bytes = ${file.bytes}, rows_sha256 = ${rows}, file_at = imported_at
        WHERE kind = ${kind}`;
      return difference;
    });
    await committed();
    const removed = present - kept;
    return { read, imported: usable, rejected, removed, appeared, changed, ended, reasons };
  });
}

/** Compares the rows of the session's staging table with the dataset that they would replace. */
async function compareStagedDebts(transaction: Transaction, kind: DebtKind): Promise<DebtDifference> {
  const [row] = await transaction<DebtDifference[]>`
    SELECT "presentDate", count(present_nif) AS present,
      count(*) FILTER (WHERE present_nif = staged_nif) AS kept,
      count(*) FILTER (WHERE is_announced AND present_nif IS NULL) AS appeared,
      count(*) FILTER (WHERE is_announced AND present_nif = staged_nif AND is_changed) AS changed,
      count(*) FILTER (WHERE is_announced AND staged_nif IS NULL) AS ended
    FROM (SELECT max(dataset_date)::text AS "presentDate" FROM debt_datasets WHERE kind = ${kind}) AS dataset
      LEFT JOIN LATERAL (
        SELECT present.nif AS present_nif, staged.nif AS staged_nif,
          (present.start_amount, present.end_amount) IS DISTINCT FROM (staged.start_amount, staged.end_amount) AS is_changed,
          "presentDate" IS NOT NULL AND NOT is_natural_person(nif) AS is_announced
        FROM (SELECT * FROM debts WHERE kind = ${kind}) AS present FULL JOIN ${transaction(STAGING)} staged USING (nif)
      ) AS compared ON true
    GROUP BY "presentDate"`;
  return row!;
}

/**
 * Refuses a dataset whose date is suspicious, or which would end the brackets of over a tenth of the companies, as a file does
 * that was cut off. Readers of the changes would get each of these ends.
 *
 * Each `--force` overrides one refusal, in this order. So an older file that is forced is still refused for its ends.
 * @throws RefusedError
 */
function refuseSuspicious(
  { presentDate, present, kept, appeared, changed, ended }: DebtDifference,
  { kind, date, force = 0 }: Pick<DebtsImportOptions, 'kind' | 'date' | 'force'>,
): void {
  /** Why the dataset is suspicious, and the effect of `--force`. */
  const suspicions: [reason: string, outcome: string][] = [];
  // A mistyped year would be shown to customers, and refuse every right file after it.
  if (date > utcDay(Date.now() + DAY)) {
    suspicions.push([`${date} is after tomorrow`, 'imports the dataset of that date']);
  } else if (presentDate !== null && date < presentDate) {
    suspicions.push([
      `the ${kind} dataset is of ${presentDate}, later than ${date}`,
      'imports the older one',
    ]);
  }
  if (kept < present * SMALLEST_REPLACEMENT) {
    suspicions.push([
      `the file has ${count(kept)} of the ${count(present)} companies of the ${kind} dataset, under 90%`,
      `replaces the dataset nevertheless (appeared ${count(appeared)}, changed ${count(changed)}, ended ${count(ended)})`,
    ]);
  }
  if (force >= suspicions.length) return;
  const [reason, outcome] = suspicions[force]!;
  throw new RefusedError(
    `${reason}: nothing has changed; ${force === 0 ? '--force' : 'one more --force'} ${outcome}`,
  );
}
