import { join } from 'node:path';
import { readDatasets } from '../companies/datasets/datasets-store.ts';
import { importDebts } from '../companies/debts/debts-import.ts';
import type { DebtKind } from '../companies/debts/kind.ts';
import { rowSource } from '../companies/ingest/source.ts';
import type { CommandTools } from '../platform/terminal/command.ts';
import type { Progress } from '../platform/terminal/progress.ts';

const EXAMPLES = join(import.meta.dir, '..', '..', 'examples');

/** Lists of invented debtors. */
const LISTS: { kind: DebtKind; file: string; date: string }[] = [
  { kind: 'tax', file: 'tax-debtors.csv', date: '2026-10-31' },
  { kind: 'social-security', file: 'social-security-debtors.csv', date: '2026-11-02' },
];

/** The words that import a later list of the tax authority: a company appears, one changes, and one ends. */
export const IMPORT_NEXT = 'debts import examples/tax-debtors-next.csv --kind tax --date 2026-11-01';

/** Companies that are in one of the files, or in both. */
export const EXAMPLE_DEBTORS = ['599900016', '599900024', '599900040'];

/**
 * Imports the list of each kind of which none was ever imported. Another one is the user's.
 * @returns whether the tax list is the example's, which {@link IMPORT_NEXT} changes
 */
export async function importExampleDebts(
  tools: Pick<CommandTools, 'databaseUrl' | 'sql' | 'signal' | 'actor'>,
  progress: Progress,
): Promise<boolean> {
  const { debts } = await readDatasets(tools.sql);
  // Whatever this machine's clock says.
  for (const { kind, file, date } of LISTS)
    if (debts[kind] === null)
      await importDebts(tools, rowSource(join(EXAMPLES, file)), { kind, date, force: 1 }, progress);
  return (await readDatasets(tools.sql)).debts.tax?.by === tools.actor;
}
