/** The answers that commands declare (docs/commands.md) are those that they give. */
import { afterAll, expect, test } from 'bun:test';
import type { Command } from 'commander';
import { helpOf } from '../../../tools/commands.ts';
import { createCommandLine } from '../../support/command.ts';
import { importMain } from '../../support/whole.ts';
import { createWorkbench } from '../../support/workbench.ts';
import { commandNames } from './command-names.ts';
import { prepareCommands } from './every-command.ts';

const bench = await createWorkbench('postgres');
afterAll(() => bench.close());

/** The members at the top of a declared answer, or `null` if it is no JSON of ours. */
function declaredMembers(help: string): { name: string; isOptional: boolean }[] | null {
  const [, answer] = /\nAnswer:\n([\s\S]*)$/.exec(help)!;
  const [, members] = /^\s*\[?\{([^\n]*(?:\n[^\n]*?)*?)\}\]?(?:\n|$)/.exec(answer!) ?? [];
  if (members === undefined) return null;
  // Without the members of members.
  const flat = members.replace(/: [[{]+[^{}]*[}\]]+/g, '').replace(/: string\[\]/g, '');
  return flat.split(',').map((member) => {
    const name = member.trim();
    return { name: name.replace('?', ''), isOptional: name.endsWith('?') };
  });
}

test('every command that declares a JSON answer answers these members and no other', async () => {
  const { words } = await prepareCommands(bench);
  const program = (await importMain()).createProgram();
  const { json } = createCommandLine(bench.database.url);
  const given: [string, string[]][] = [];
  const wanted: typeof given = [];
  expect(Object.keys(words).toSorted()).toEqual(await commandNames());
  for (const [name, wordsOf] of Object.entries(words)) {
    const command = name
      .split(' ')
      .reduce<Command>((parent, word) => parent.commands.find((child) => child.name() === word)!, program);
    const declared = declaredMembers(helpOf(command));
    const rest = await wordsOf();
    if (declared === null) continue;
    const answer = await json(...name.split(' '), ...rest);
    const one = Array.isArray(answer) ? answer.at(-1) : answer;
    if (one === undefined) continue;
    const members = Object.keys(one).toSorted();
    const expected = declared.filter(({ name, isOptional }) => !isOptional || members.includes(name));
    given.push([name, members]);
    wanted.push([name, expected.map((member) => member.name).toSorted()]);
  }
  expect(given).toEqual(wanted);
  expect(given.length).toBeGreaterThan(25);
});
