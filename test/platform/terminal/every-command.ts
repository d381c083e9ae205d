/** Every command that ends by itself, for tests that run all of them. */
import type { Command } from 'commander';
import { createUser } from '../../../src/dashboard/account/invitations.ts';
import { createAccount } from '../../../src/metering/accounts/account-store.ts';
import { createKey } from '../../../src/metering/keys/key-store.ts';
import { importBrackets } from '../../companies/debts/debts-support.ts';
import { createCommandLine } from '../../support/command.ts';
import { csv, nif } from '../../support/companies.ts';
import { storeRecord } from '../../support/records.ts';
import { importMain } from '../../support/whole.ts';
import type { Workbench } from '../../support/workbench.ts';

/** Each command that ends by itself, by its words. */
function namesOf(command: Command, words: string[] = []): string[] {
  if (command.commands.length === 0) return words[0] === 'serve' ? [] : [words.join(' ')];
  return command.commands.flatMap((child) => namesOf(child, [...words, child.name()]));
}

/** The commands of the program that end by themselves. */
export async function commandNames(): Promise<string[]> {
  const { createProgram } = await importMain();
  return namesOf(createProgram()).toSorted();
}

/** Prepares a database in which every command has an answer. @returns the words for each, in an order in which they can run */
export async function prepareCommands(bench: Workbench) {
  const { sql } = bench.database;
  const { id: account } = await createAccount(sql, { name: 'Full disk', plan: 'plus' }, 'test');
  const { id: key } = await createKey(sql, account, 'test', 'test');
  const member = async (email: string) => {
    await createUser(sql, account, { name: 'Eva', email, password: 'a long enough passphrase' }, 'test');
    return ['--email', email];
  };
  const debts = await bench.write('debts.csv', `nif,start,end\n${nif(1)},1,2\n`);
  await storeRecord(sql, nif(1), 'Ábaco, Lda', new Date());
  for (const rows of [1, 2]) await bench.importText(csv(0, rows));
  await importBrackets(bench.database, { [nif(1)]: [1, 2] }, { date: '2026-10-31' });

  /** Words for each command, with which it has an answer. */
  const WORDS: Record<string, () => string[] | Promise<string[]>> = {
    migrate: () => [],
    'companies import': async () => [await bench.write('a.csv', csv(0, 3))],
    'companies export': () => [],
    'companies show': () => [nif(1)],
    'companies forget': () => [nif(1)],
    'debts import': () => [debts, '--kind', 'tax', '--date', '2026-10-31'],
    'debts export': () => ['--kind', 'tax'],
    'index rebuild': () => [],
    'index status': () => [],
    'index rollback': () => [],
    'account create': () => ['--name', 'Another'],
    'account list': () => [],
    'account show': () => [account],
    'account plan': () => [account, 'plus'],
    'account limits': () => [account, '--included-credits', 'plan'],
    'account credits': () => [account, '--add', '1'],
    'account suspend': () => [account],
    'account resume': () => [account],
    'account invite': () => [account, '--email', 'ana@example.com'],
    'account invitations': () => [account],
    'account withdraw-invitation': async () => {
      const words = [account, '--email', 'rita@example.com'];
      await createCommandLine(bench.database.url).json('account', 'invite', ...words);
      return words;
    },
    'account members': () => [account],
    'account reset-second-factor': async () => {
      const words = [account, ...(await member('rui@example.com'))];
      await sql`UPDATE dashboard_users SET "twoFactorEnabled" = true`;
      return words;
    },
    'account remove-member': async () => [account, ...(await member('eva@example.com'))],
    'account history': () => [account],
    'account activity': () => [account],
    'account export': () => [account],
    'key create': () => [account],
    'key rotate': () => [key],
    'key expire': () => [key, '--never'],
    'key limit': () => [key, '--credits', 'none'],
    'key list': () => [account],
    'key show': () => [key],
    'key revoke': () => [key],
    'account delete': () => [account, '--yes'],
    backup: () => [bench.path('directory.backup')],
    restore: async () => {
      await createCommandLine(bench.database.url).json('backup', bench.path('restored.backup'));
      await sql.unsafe('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
      return [bench.path('restored.backup')];
    },
  };
  return { account, key, words: WORDS };
}
