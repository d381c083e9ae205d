import type { Command } from 'commander';
import { answers } from '../terminal/command.ts';
import { table } from '../terminal/text.ts';
import { name } from '../terminal/values.ts';
import { createKey, listKeys, revokeKey } from './store.ts';

/** `key …` (contract, Command line). */
export function keyCommands(program: Command): void {
  const key = program.command('key').description('API keys');

  answers(
    key
      .command('create')
      .argument('<account>')
      .option('--name <name>', 'what it is for', name, '')
      .description('create a key: its secret is shown now and never again')
      .addHelpText('after', '\nExample:\n  bun directory key create acc_… --name production'),
    ({ sql, actor }, account: string, options: { name: string }) =>
      createKey(sql, account, options.name, actor),
    ({ id, secret }) => `${secret}\n\nThis is key ${id}. Keep the secret now: it can't be shown again.`,
  );

  answers(
    key
      .command('list')
      .argument('<account>')
      .description("an account's keys, revoked ones too")
      .addHelpText('after', '\nExample:\n  bun directory key list acc_… --json'),
    async ({ sql }, account: string) => {
      const keys = await listKeys(sql, account);
      return keys.map((key) => ({
        ...key,
        created: key.created.toISOString(),
        revoked: key.revoked?.toISOString() ?? null,
      }));
    },
    (keys) =>
      table([
        ['ID', 'NAME', 'START', 'CREATED', 'REVOKED'],
        ...keys.map((key) => [key.id, key.name, `${key.start}…`, key.created, key.revoked ?? '–']),
      ]),
  );

  answers(
    key
      .command('revoke')
      .argument('<id>')
      .description('revoke a key for good: in force on every instance within 5 seconds')
      .addHelpText('after', '\nExample:\n  bun directory key revoke key_…'),
    async ({ sql, actor }, id: string) => {
      const { revoked } = await revokeKey(sql, id, actor);
      return { id, revoked: revoked.toISOString() };
    },
    ({ id, revoked }) => `${id} is revoked since ${revoked}`,
  );
}
