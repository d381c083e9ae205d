import { join } from 'node:path';
import { importDebts } from '../debts/import.ts';
import type { DebtKind } from '../debts/kind.ts';
import { rowSource } from '../ingest/source.ts';
import type { CommandTools } from '../terminal/command.ts';
import type { Progress } from '../terminal/progress.ts';

/** Invented debtors in the form in which each list is published (docs/imports.md, Debtors). */
const FILES: Record<DebtKind, string> = { tax: 'debtors.json', 'social-security': 'ss-debtors.json' };

/** Companies that are in one of the files, or in both. */
export const EXAMPLE_DEBTORS = ['599900016', '599900024', '599900040'];

/** Imports both files, as the commands of docs/imports.md would. */
export async function importExampleDebts(
  tools: Pick<CommandTools, 'databaseUrl' | 'sql' | 'signal' | 'actor'>,
  progress: Progress,
): Promise<void> {
  for (const [kind, file] of Object.entries(FILES) as [DebtKind, string][]) {
    const path = join(import.meta.dir, '..', '..', 'examples', file);
    const { last_updated: date } = await Bun.file(path).json();
    const columns = { nif: 'nipc', start: 'step.start', end: 'step.end' };
    // Whatever this machine's clock says.
    const force = 1;
    const options = { kind, date, columns, list: 'colective_debtors', legalPersons: true, force };
    await importDebts(tools, rowSource(path), options, progress);
  }
}
