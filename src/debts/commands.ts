import { type Command, InvalidArgumentError, Option } from 'commander';
import { fileOptions, readFileOptions } from '../ingest/options.ts';
import { rowSource } from '../ingest/source.ts';
import { describeRejected } from '../ingest/staging.ts';
import { defineCommand } from '../terminal/command.ts';
import { count, duration, withProgress } from '../terminal/progress.ts';
import { fields } from '../terminal/text.ts';
import { isRealDate } from '../terminal/values.ts';
import { DEBT_KINDS, DEBTS_PLAN, type DebtsImportOptions, type DebtsReport, importDebts } from './import.ts';

/** `debts import` (contract, Command line). */
export function debtCommands(program: Command): void {
  const debts = program
    .command('debts')
    .description('debt brackets of the tax authority and of social security');
  const command = fileOptions(debts.command('import'), DEBTS_PLAN)
    .description('import a dataset of debt brackets: it replaces the whole one of its kind')
    .argument(
      '<file>',
      'CSV, TSV, JSON Lines or a JSON list with nif, start and end, .gz or not; - for standard input',
    )
    .addOption(
      new Option('--kind <kind>', 'whose dataset it is').choices([...DEBT_KINDS]).makeOptionMandatory(),
    )
    .requiredOption('--date <YYYY-MM-DD>', "the dataset's date", realDate)
    .option('--force', 'also when the file is older, or has under 90% of the present companies')
    .option('--dry-run', 'read, compare and report; change nothing')
    .addHelpText(
      'after',
      `
An empty end means that the bracket is open-ended. Lookups see the old dataset until the new one is complete.
A file is refused if it has under 90% of the companies of the present dataset, or an earlier --date: --force
imports it nevertheless.

Examples:
  bun directory debts import tax.csv --kind tax --date 2026-10-31
  bun directory debts import debtors.json --kind tax --date 2026-10-31 --legal-persons \\
    --list colective_debtors --columns nif=nipc,start=step.start,end=step.end
  zcat seg-social.tsv.gz | bun directory debts import - --kind social-security --date 2026-11-01`,
    );
  defineCommand(
    command,
    (tools, file: string, options: GivenOptions) =>
      withProgress(async (progress) => {
        const report = await importDebts(tools, rowSource(file), importOptions(options), progress);
        return { ...report, toJSON: () => jsonAnswer(report) };
      }, tools.signal),
    describeReport,
  );
}

type GivenOptions = Pick<DebtsImportOptions, 'kind' | 'date'> & Partial<DebtsImportOptions>;

function importOptions(given: GivenOptions): DebtsImportOptions {
  const { kind, date, force = false, dryRun = false } = given;
  return { ...readFileOptions(given), kind, date, force, dryRun };
}

function jsonAnswer({ dryRun: _, reasons, ...report }: DebtsReport) {
  return { ...report, reasons: Object.fromEntries(reasons) };
}

function describeReport(report: DebtsReport): string {
  return fields({
    read: count(report.read),
    imported: `${count(report.imported)}${report.dryRun ? ' (dry run: nothing has changed)' : ''}`,
    ...(report.removed > 0 ? { removed: count(report.removed) } : {}),
    rejected: describeRejected(report),
    time: duration(report.milliseconds),
  });
}

function realDate(text: string): string {
  if (isRealDate(text)) return text;
  throw new InvalidArgumentError('It must be a real date, as in 2026-10-31.');
}
