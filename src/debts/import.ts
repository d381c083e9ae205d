import type { RowSource } from '../files/source.ts';
import { type StagingPlan, stageFile } from '../imports/staging.ts';
import type { Sql } from '../postgres/connect.ts';
import { withDedicated } from '../postgres/dedicated.ts';
import type { Progress } from '../terminal/progress.ts';

/** Who publishes a dataset of debt brackets. */
export const DEBT_KINDS = ['tax', 'social-security'] as const;
export type DebtKind = (typeof DEBT_KINDS)[number];

export interface DebtsImportOptions {
  kind: DebtKind;
  /** The dataset's own date, `YYYY-MM-DD`. */
  date: string;
  rejects: string | null;
}

/** The answer of the contract. */
export interface DebtsAnswer {
  read: number;
  /** Brackets that the dataset has now. */
  imported: number;
  rejected: number;
}

export interface DebtsReport extends DebtsAnswer {
  reasons: Map<string, number>;
  milliseconds: number;
}

export interface DebtsTools {
  sql: Sql;
  signal: AbortSignal;
  actor: string;
}

/**
 * Replaces the whole dataset of one kind by a file's rows (contract, Files), in one transaction: lookups see the old
 * dataset or the new one.
 *
 * @throws FileError when the file can't be read; RefusedError when nothing usable is in it
 */
export function importDebts(
  tools: DebtsTools,
  source: RowSource,
  { kind, date, rejects }: DebtsImportOptions,
  progress: Progress,
): Promise<DebtsReport> {
  return withDedicated(tools, async (sql) => {
    const startedAt = Date.now();
    const { read, usable, rejected, reasons } = await stageFile(sql, source, DEBTS_PLAN, {
      rejects,
      signal: tools.signal,
      progress,
    });
    progress.phase('storing the brackets');
    await sql`SELECT replace_debts(${kind}, ${date}, ${tools.actor})`;
    return { read, imported: usable, rejected, reasons, milliseconds: Date.now() - startedAt };
  });
}

/** How a file of debt brackets is read (contract, Files). */
const DEBTS_PLAN: StagingPlan = {
  columns: ['start', 'end'],
  definition: 'start_amount bigint, end_amount bigint',
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

/** A whole amount of money in plain digits, at most 2^53 - 1; null: it is none. */
function readAmount(text: string): number | null {
  const trimmed = text.trim();
  if (!/^\d{1,30}$/.test(trimmed)) return null;
  const amount = Number(trimmed);
  return Number.isSafeInteger(amount) ? amount : null;
}
