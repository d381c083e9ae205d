import { type Command, InvalidArgumentError, Option } from 'commander';
import { defineImport } from '../ingest/import-command.ts';
import { isRealDate } from '../terminal/values.ts';
import { DEBT_KINDS } from './debt.ts';
import { DEBTS_PLAN, importDebts } from './import.ts';

/** `debts import` (contract, Command line). */
export function debtCommands(program: Command): void {
  const debts = program
    .command('debts')
    .description('debt brackets of the tax authority and of social security');
  const command = debts
    .command('import')
    .description('import a dataset of debt brackets: it replaces the whole one of its kind')
    .addOption(
      new Option('--kind <kind>', 'whose dataset it is').choices([...DEBT_KINDS]).makeOptionMandatory(),
    )
    .requiredOption('--date <YYYY-MM-DD>', "the dataset's date", realDate)
    .option(
      '--force',
      'also when the file is older or of the future, or has under 90% of the present companies',
    )
    .addHelpText(
      'after',
      `
An empty end means that the bracket is open-ended. Lookups see the old dataset until the new one is complete.
A file is refused if it has under 90% of the companies of the present dataset, an earlier --date, or one after
tomorrow (UTC): --force imports it nevertheless.

Examples:
  bun directory debts import tax.csv --kind tax --date 2026-10-31
  bun directory debts import debtors.json --kind tax --date 2026-10-31 --legal-persons \\
    --list colective_debtors --columns nif=nipc,start=step.start,end=step.end
  zcat seg-social.tsv.gz | bun directory debts import - --kind social-security --date 2026-11-01`,
    );
  defineImport(command, DEBTS_PLAN, importDebts);
}

function realDate(text: string): string {
  if (isRealDate(text)) return text;
  throw new InvalidArgumentError('It must be a real date, as in 2026-10-31.');
}
