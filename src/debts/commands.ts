import { type Command, InvalidArgumentError, Option } from 'commander';
import { rowSource } from '../files/source.ts';
import { describeRejected } from '../imports/staging.ts';
import { answers } from '../terminal/command.ts';
import { count, duration, withProgress } from '../terminal/progress.ts';
import { fields } from '../terminal/text.ts';
import { isRealDate } from '../terminal/values.ts';
import { DEBT_KINDS, type DebtKind, type DebtsAnswer, type DebtsReport, importDebts } from './import.ts';

/** `debts import` (contract, Command line). */
export function debtCommands(program: Command): void {
  const debts = program
    .command('debts')
    .description('debt brackets of the tax authority and of social security');
  const command = debts
    .command('import')
    .description('import a dataset of debt brackets: it replaces the whole one of its kind')
    .argument('<file>', 'CSV, TSV or JSON Lines with nif, start and end, .gz or not; - for standard input')
    .addOption(
      new Option('--kind <kind>', 'whose dataset it is').choices([...DEBT_KINDS]).makeOptionMandatory(),
    )
    .requiredOption('--date <YYYY-MM-DD>', "the dataset's date", realDate)
    .option('--rejects <file>', 'write the rows that could not be used to a CSV file: line,reason,row')
    .addHelpText(
      'after',
      `
An empty end means that the bracket is open-ended. Lookups see the old dataset until the new one is complete.

Examples:
  bun directory debts import tax.csv --kind tax --date 2026-10-31
  zcat seg-social.tsv.gz | bun directory debts import - --kind social-security --date 2026-11-01`,
    );
  answers(
    command,
    (tools, file: string, { kind, date, rejects }: { kind: DebtKind; date: string; rejects?: string }) =>
      withProgress(async (progress) => {
        const options = { kind, date, rejects: rejects ?? null };
        const report = await importDebts(tools, rowSource(file), options, progress);
        return { ...report, toJSON: () => contractAnswer(report) };
      }),
    describeReport,
  );
}

function contractAnswer({ read, imported, rejected }: DebtsReport): DebtsAnswer {
  return { read, imported, rejected };
}

function describeReport(report: DebtsReport): string {
  return fields({
    read: count(report.read),
    imported: count(report.imported),
    rejected: describeRejected(report),
    time: duration(report.milliseconds),
  });
}

/** A day that the calendar has, as it was written. */
function realDate(text: string): string {
  if (isRealDate(text)) return text;
  throw new InvalidArgumentError('It must be a real date, as in 2026-10-31.');
}
