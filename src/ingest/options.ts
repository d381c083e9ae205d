import { type Command, InvalidArgumentError } from 'commander';
import { type ColumnNames, comparable } from './columns.ts';
import type { FileOptions, StagingPlan } from './staging.ts';

/** Adds the options for reading a file (contract, Files), which are the same for every import. */
export function fileOptions(command: Command, plan: StagingPlan): Command {
  const names = ['nif', ...plan.columns];
  const example = names.map((name) => `${name}=NAME`).join(',');
  return command
    .option('--columns <names>', `what the file calls them: ${example}`, columnNames(names))
    .option('--list <name>', 'the member of a JSON document that has the list of rows')
    .option('--legal-persons', 'skip natural persons: NIFs that begin with 1, 2, 3 or 45')
    .option('--rejects <file>', 'write the rows that could not be used to a CSV file: line,reason,row');
}

export function readFileOptions({ columns, list, legalPersons, rejects }: Partial<FileOptions>): FileOptions {
  return { columns, list, legalPersons, rejects: rejects ?? null };
}

/** Reads `nif=NIPC,legal_name=Designação`. A name may have commas in it. */
function columnNames(names: readonly string[]): (text: string) => ColumnNames {
  return (text) => {
    const sources: Record<string, string> = {};
    for (const pair of text.split(new RegExp(`,(?=(?:${names.join('|')})=)`))) {
      const [, name, source] = /^(\w+)=(.*)$/s.exec(pair) ?? [];
      if (name === undefined || !names.includes(name) || source!.trim() === '')
        throw new InvalidArgumentError(`It must be like ${names.map((one) => `${one}=NAME`).join(',')}.`);
      if (name in sources) throw new InvalidArgumentError(`It has ${name} twice.`);
      sources[name] = source!.trim();
    }
    const used = names.map((name) => comparable(sources[name] ?? name));
    if (new Set(used).size < used.length)
      throw new InvalidArgumentError('Each must come from a different column.');
    return sources;
  };
}
