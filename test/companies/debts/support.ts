import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

/** Makes a dataset the present one of its kind, whatever was there before. */
export async function importBrackets(
  { url, sql }: Pick<TestDatabase, 'url' | 'sql'>,
  brackets: Record<string, Amounts>,
  {
    kind = 'tax',
    date = '2026-10-31',
    dryRun = false,
  }: { kind?: DebtKind; date?: string; dryRun?: boolean } = {},
) {
  const folder = await mkdtemp(join(tmpdir(), 'debts-test-'));
  try {
    const path = join(folder, 'debts.csv');
    await Bun.write(path, debtsFile(brackets));
    const tools = { databaseUrl: url, sql, signal: new AbortController().signal, actor: 'test' };
    return await importDebts(tools, { path }, { kind, date, dryRun, force: 2 }, NO_PROGRESS);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
