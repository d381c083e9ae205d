import { type Command, InvalidArgumentError, Option } from 'commander';
import { isRealDate } from '../../platform/dates.ts';
import { RefusedError } from '../../platform/errors.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { defineExport, type ExportSource } from '../../platform/terminal/export-command.ts';
import { defineImport } from '../ingest/import-command.ts';
import { importDebts } from './debts-import.ts';
import { bracketsOf, DEBTS_LAYOUT } from './debts-layout.ts';
import { DEBT_KINDS, type DebtKind } from './kind.ts';

/** `debts import` and `debts export` (docs/commands.md). */
export function debtCommands(program: Command): void {
  const debts = program
    .command('debts')
    .description('debt brackets of the tax authority and of social security');
  const importing = debts
    .command('import')
    .description('import a dataset of debt brackets: it replaces the whole one of its kind')
    .addOption(kindOption())
    .requiredOption('--date <YYYY-MM-DD>', "the dataset's date", realDate)
    .addOption(
      new Option(
        '--force',
        'also when the file is older or of the future, or has under 90% of the present companies; once for each',
      )
        .preset('')
        .argParser((_, given: number | undefined) => (given ?? 0) + 1),
    )
    .addHelpText(
      'after',
      `
Examples:
  bun directory debts import tax.csv --kind tax --date 2026-10-31
  jq -c '.colective_debtors[]' debtors.json | bun directory debts import - --kind tax --date 2026-10-31 \\
    --legal-persons --columns nif=nipc,start=step.start,end=step.end`,
    );
  defineImport(
    importing,
    '{read, imported, rejected, removed, appeared, changed, ended, reasons, milliseconds}',
    DEBTS_LAYOUT,
    importDebts,
  );

  const exporting = debts
    .command('export')
    .description('write the dataset of a kind as CSV, in the form that the import takes')
    .addOption(kindOption())
    .addHelpText(
      'after',
      `
The date of the dataset goes to standard error.

Examples:
  bun directory debts export --kind tax > tax.csv
  bun directory debts export --kind social-security --output social-security.csv.gz`,
    );
  defineExport(exporting, findDataset);
}

const kindOption = () =>
  new Option('--kind <kind>', 'whose dataset it is').choices([...DEBT_KINDS]).makeOptionMandatory();

function realDate(text: string): string {
  if (isRealDate(text)) return text;
  throw new InvalidArgumentError('It must be a real date, as in 2026-10-31.');
}

/** The present dataset of a kind. @throws RefusedError when none was ever imported */
async function findDataset(sql: Sql, { kind }: { kind: DebtKind }): Promise<ExportSource> {
  const [dataset] = await sql<{ date: string; rows: number }[]>`
    SELECT dataset_date::text AS date, rows FROM debt_datasets WHERE kind = ${kind}`;
  if (dataset === undefined) throw new RefusedError(`no ${kind} dataset was ever imported`);
  return {
    name: `the ${kind} dataset of ${dataset.date}`,
    rows: dataset.rows,
    select: bracketsOf(`debts WHERE kind = '${kind}'`),
  };
}
