/** The tables of docs/contract.md and README.md against the code: nothing is promised that is not there, and nothing left out. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Command } from 'commander';
import { createProgram } from '../src/main.ts';
import { variablesOfConfig } from './support/config-variables.ts';
import { ROOT } from './support/service.ts';

/** The first cells of the first table below a heading. */
async function firstCells(file: string, heading: string): Promise<string[]> {
  const lines = (await Bun.file(join(ROOT, file)).text()).split('\n');
  const section = lines.slice(lines.indexOf(heading) + 1);
  const table = section.slice(section.findIndex((line) => line.startsWith('|')));
  const rows = table.slice(2, 2 + table.slice(2).findIndex((line) => !line.startsWith('|')));
  return rows.map((row) => row.split(/(?<!\\)\|/)[1]!.replaceAll('\\|', '|'));
}

/** What stands in backticks. */
const codeOf = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code!);

for (const [file, heading] of [
  ['docs/contract.md', '## Configuration (environment)'],
  ['README.md', '## Configuration'],
] as const) {
  test(`${file} lists exactly the variables that the configuration reads`, async () => {
    const cells = await firstCells(file, heading);
    expect(cells.flatMap(codeOf).toSorted()).toEqual(variablesOfConfig().names);
  });
}

test('README.md marks exactly the variables that can come from a file', async () => {
  const cells = await firstCells('README.md', '## Configuration');
  const marked = cells.flatMap((cell) => [...cell.matchAll(/`([A-Z_]+)` \*/g)].map(([, name]) => name!));
  expect(marked.toSorted()).toEqual(variablesOfConfig().secrets);
});

/** `account plan ID free|plus [--until INSTANT]` as `account plan, 2 arguments, [--until VALUE]`. */
function readUsage(usage: string): string {
  const words = /^[a-z]+( [a-z]+)*(?= |$)/.exec(usage)![0];
  const options: string[] = [];
  const rest = usage
    .slice(words.length)
    .replace(/(\[?)(--[a-z-]+)( [^\s[\]-][^\s[\]]*)?(\]?)/g, (_, open, name, value, close) => {
      options.push(`${open}${name}${value === undefined ? '' : ' VALUE'}${close}`);
      return '';
    });
  return describe(words, rest.split(' ').filter((word) => word !== '').length, options);
}

function describe(words: string, count: number, options: string[]): string {
  return [words, `${count} arguments`, ...options.toSorted()].join(', ');
}

/** The same of every command of the program. */
function usagesOf(command: Command, words: string[] = []): string[] {
  if (command.commands.length > 0) {
    return command.commands.flatMap((child) => usagesOf(child, [...words, child.name()]));
  }
  const options = command.options
    .filter(({ hidden, long }) => !hidden && long !== '--json')
    .map(({ long, required, optional, mandatory }) => {
      const usage = `${long}${required || optional ? ' VALUE' : ''}`;
      return mandatory ? usage : `[${usage}]`;
    });
  return [describe(words.join(' '), command.registeredArguments.length, options)];
}

test('docs/contract.md lists exactly the commands, their arguments and their options', async () => {
  const cells = await firstCells('docs/contract.md', '## Command line');
  // In brackets stands what explains a value.
  const usages = cells.flatMap((cell) => codeOf(cell.replace(/\([^)]*\)/g, '')));
  expect(usages.map(readUsage).toSorted()).toEqual(usagesOf(createProgram()).toSorted());
});
