import { importDebts } from '../../../src/companies/debts/debts-import.ts';
import type { DebtKind } from '../../../src/companies/debts/kind.ts';
import type { TestDatabase } from '../../support/database.ts';
import { NO_PROGRESS } from '../../support/progress.ts';

/** A bracket: where it starts, and its end; `null` means open-ended. */
export type Amounts = readonly [start: number, end: number | null];

/** A file of debts with these brackets by NIF. */
export function debtsFile(brackets: Record<string, Amounts>): string {
  const rows = Object.entries(brackets).map(([nif, [start, end]]) => `${nif},${start},${end ?? ''}\n`);
  return `nif,start,end\n${rows.join('')}`;
}

interface ImportOptions {
  kind?: DebtKind;
  date?: string;
  force?: number;
  dryRun?: boolean;
  rejects?: string;
}

/** Imports a text as a file of debts. */
export function importDebtsText(
  { url: databaseUrl, sql }: Pick<TestDatabase, 'url' | 'sql'>,
  text: string,
  { kind = 'tax', date = '2026-10-31', ...options }: ImportOptions = {},
) {
  const tools = { databaseUrl, sql, signal: new AbortController().signal, actor: 'test' };
  const stdin = new Blob([text]).stream();
  return importDebts(tools, { stdin }, { kind, date, ...options }, NO_PROGRESS);
}

/** Makes a dataset the present one of its kind, whatever was there before. */
export const importBrackets = (
  database: Pick<TestDatabase, 'url' | 'sql'>,
  brackets: Record<string, Amounts>,
  options: ImportOptions = {},
) => importDebtsText(database, debtsFile(brackets), { force: 2, ...options });
