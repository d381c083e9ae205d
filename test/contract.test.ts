/** The lists of docs/contract.md and docs/configuration.md have exactly what the code has, and the versions agree. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Command } from 'commander';
import { configurationTable } from '../docs/configuration.ts';
import { testKeysPage } from '../docs/test-keys.ts';
import manifest from '../package.json';
import { BASE_PATH } from '../src/http/api-route.ts';
import { createOpenApi } from '../src/http/openapi.ts';
import { createProgram } from '../src/main.ts';
import { SETTINGS } from '../src/platform/config/config.ts';
import { ROOT } from './support/command.ts';
import { variablesOfConfig } from './support/config-variables.ts';

/** The texts before the arrows, of the list items below a heading. */
async function listedCommands(file: string, heading: string): Promise<string[]> {
  const text = await Bun.file(join(ROOT, file)).text();
  const [section] = text.slice(text.indexOf(`\n${heading}\n`) + heading.length).split('\n## ');
  return [...section!.matchAll(/^- (.+?) → /gm)].map(([, item]) => item!);
}

/** What stands in backticks. */
const codeOf = (item: string) => [...item.matchAll(/`([^`]+)`/g)].map(([, code]) => code!);

test('docs/configuration.md has the table of src/platform/config/config.ts', async () => {
  expect(await Bun.file(join(ROOT, 'docs/configuration.md')).text()).toContain(
    `\n\n${configurationTable()}\n`,
  );
});

test('docs/test-keys.md is what docs/test-keys.ts writes', async () => {
  expect(await Bun.file(join(ROOT, 'docs/test-keys.md')).text()).toBe(testKeysPage());
});

test('docs/configuration.md names every variable that the configuration reads, and marks those that a file can hold', async () => {
  const text = await Bun.file(join(ROOT, 'docs/configuration.md')).text();
  const settings = Object.values(SETTINGS);
  const ofBun = [...text.matchAll(/^- `(\w+)`/gm)].map(([, name]) => name!);
  const { names, secrets } = variablesOfConfig();
  expect([...settings.map(({ name }) => name), ...ofBun].toSorted()).toEqual(names);
  const marked = settings.filter(({ isSecret }) => isSecret).map(({ name }) => name);
  expect(marked.toSorted()).toEqual(secrets);
});

/** `account plan ID free|plus [--until INSTANT]` as `account plan, 2 arguments, [--until VALUE]`. */
function readUsage(usage: string): string {
  const words = /^[a-z]+( [a-z][a-z-]*)*(?= |$)/.exec(usage)![0];
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
  const items = await listedCommands('docs/contract.md', '## Command line');
  // In brackets stands what explains a value.
  const usages = items.flatMap((item) => codeOf(item.replace(/\([^)]*\)/g, '')));
  expect(usages.map(readUsage).toSorted()).toEqual(usagesOf(createProgram()).toSorted());
});

test('the newest release of CHANGELOG.md is the version of package.json, and the reference has the version of the path', async () => {
  const [, newest] = /^## (\d\S*) /m.exec(await Bun.file(join(ROOT, 'CHANGELOG.md')).text())!;
  expect(newest).toBe(manifest.version);
  expect(BASE_PATH).toBe(`/api/v${createOpenApi('https://example.test', [], new Map()).info.version}`);
});
