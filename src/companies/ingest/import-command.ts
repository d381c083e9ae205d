import { type Command, InvalidArgumentError } from 'commander';
import { type CommandTools, defineCommand } from '../../platform/terminal/command.ts';
import { count, duration, type Progress, withProgress } from '../../platform/terminal/progress.ts';
import { recordRun } from '../../platform/terminal/runs.ts';
import { fields } from '../../platform/terminal/text.ts';
import { filePath } from '../../platform/terminal/values.ts';
import { type ColumnNames, comparable } from './columns.ts';
import { type RowSource, rowSource } from './source.ts';
import { describeRejected, type FileLayout, type FileOptions, type Staged } from './staging.ts';

/** The result of an import of any kind. Each kind has further members: counts of rows, or texts. */
export interface ImportReport extends Pick<Staged, 'read' | 'rejected' | 'reasons'> {
  imported: number;
  removed: number;
}

/**
 * Defines `import <file>` with the options for reading a file and `--dry-run`, which are the same for every import
 * (docs/imports.md: files). It shows the progress and prints the report.
 */
export function defineImport<Options extends FileOptions>(
  command: Command,
  answer: string,
  layout: FileLayout,
  run: (
    tools: CommandTools,
    source: RowSource,
    options: Options,
    progress: Progress,
  ) => Promise<ImportReport>,
): Command {
  const names = ['nif', ...layout.columns];
  const list = `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
  const example = names.map((name) => `${name}=NAME`).join(',');
  command
    .argument('<file>', `CSV or JSON Lines with ${list}, gzip or not; - for standard input`, filePath)
    .option('--columns <names>', `what the file calls them: ${example}`, columnNames(names))
    .option('--legal-persons', 'skip natural persons: NIFs that begin with 1, 2, 3 or 45')
    .option(
      '--rejects <file>',
      'write the rows that could not be used to a CSV file: line,reason,row',
      rejectsFile,
    )
    .option('--dry-run', 'read, compare and report; change nothing');
  return defineCommand(
    command,
    answer,
    (tools, file: string, options: Options) =>
      withProgress(async (progress) => {
        const startedMs = performance.now();
        const work = () => run(tools, rowSource(file), options, progress);
        const { kind } = options as { kind?: string };
        const words = kind === undefined ? layout.command : `${layout.command} ${kind}`;
        const report = await (options.dryRun ? work() : recordRun(tools.sql, words, work));
        return { ...report, milliseconds: Math.round(performance.now() - startedMs) };
      }, tools.signal),
    ({ read, imported, removed, rejected, reasons, milliseconds, ...more }) =>
      fields({
        read: count(read),
        imported: `${count(imported)}${command.opts<Options>().dryRun ? ' (dry run: nothing has changed)' : ''}`,
        ...(removed > 0 ? { removed: count(removed) } : {}),
        rejected: describeRejected({ rejected, reasons }),
        ...describeMore(more),
        time: duration(milliseconds),
      }),
  );
}

function describeMore(more: Record<string, number | string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(more).map(([name, value]) => [name, typeof value === 'number' ? count(value) : value]),
  );
}

/** Reads `nif=NIPC, legal_name=Designação`. A name may have commas in it. */
function columnNames(names: readonly string[]): (text: string) => ColumnNames {
  const form = `It must be like ${names.map((one) => `${one}=NAME`).join(',')}.`;
  const begin = `\\s*(?:${names.join('|')})\\s*=`;
  const betweenPairs = new RegExp(`,(?=${begin})`);
  // With another mark than a comma, the second pair would be part of the first one's name.
  const secondPair = new RegExp(`[;|\\s]${begin}`);
  return (text) => {
    const sources: Record<string, string> = {};
    for (const pair of text.split(betweenPairs)) {
      const [, name = '', source = ''] = /^\s*(\w+)\s*=(.*)$/s.exec(pair) ?? [];
      if (!names.includes(name) || source.trim() === '' || secondPair.test(source))
        throw new InvalidArgumentError(form);
      if (name in sources) throw new InvalidArgumentError(`It has ${name} twice.`);
      sources[name] = source.trim();
    }
    const used = names.map((name) => comparable(sources[name] ?? name));
    if (new Set(used).size < used.length)
      throw new InvalidArgumentError('Each must come from a different column.');
    return sources;
  };
}

/** `-` is standard input for the file that is read, so it would be a surprise as the name of a file. */
function rejectsFile(path: string): string {
  if (path !== '-') return filePath(path);
  throw new InvalidArgumentError('It must be a file; /dev/stderr is standard error.');
}
