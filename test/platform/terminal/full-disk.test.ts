/** Every command that prints an answer ends when the answer can't be written. */
import { afterAll, expect, test } from 'bun:test';
import type { Command } from 'commander';
import { createUser } from '../../../src/dashboard/account/invitations.ts';
import { createProgram } from '../../../src/main.ts';
import { createAccount } from '../../../src/metering/accounts/store.ts';
import { createKey } from '../../../src/metering/keys/store.ts';
import { importBrackets } from '../../companies/debts/support.ts';
import { bareEnvironment, createCommandLine, MAIN } from '../../support/command.ts';
import { csv, nif } from '../../support/companies.ts';
import { storeRecord } from '../../support/records.ts';
import { createWorkbench } from '../../support/workbench.ts';

const bench = await createWorkbench('postgres');
afterAll(() => bench.close());
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
  'account export': () => [account],
  'key create': () => [account],
  'key rotate': () => [key],
  'key expire': () => [key, '--never'],
  'key list': () => [account],
  'key show': () => [key],
  'key revoke': () => [key],
  'account delete': () => [account, '--yes'],
};

/** Each command that ends by itself, by its words. */
function namesOf(command: Command, words: string[] = []): string[] {
  if (command.commands.length === 0) return words[0] === 'serve' ? [] : [words.join(' ')];
  return command.commands.flatMap((child) => namesOf(child, [...words, child.name()]));
}

/** Runs a command as a shell does, with its output elsewhere. It is killed if it doesn't end. */
async function runInto(redirection: string, words: string[]) {
  const child = Bun.spawn(['sh', '-c', `exec "$0" "$@" ${redirection}`, process.execPath, MAIN, ...words], {
    env: { ...bareEnvironment(), DATABASE_URL: bench.database.url },
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: 30_000,
    killSignal: 'SIGKILL',
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, stdout, errors: stderr.split('\n').filter((line) => line.startsWith('error: ')) };
}

test('the commands here are those of the program', () => {
  expect(Object.keys(WORDS).toSorted()).toEqual(namesOf(createProgram()).toSorted());
});

/** Elsewhere there is no /dev/full. */
const linux = test.skipIf(process.platform !== 'linux');

linux.each(Object.keys(WORDS))(
  '%s ends with 1 and one line when the disk is full',
  async (name) => {
    const words = [...name.split(' '), ...(await WORDS[name]!())];
    expect(await runInto('> /dev/full', words)).toEqual({
      code: 1,
      stdout: '',
      errors: [expect.stringMatching(/^error: the answer could not be written: ENOSPC\b/)],
    });
  },
  40_000,
);

linux(
  'a long answer, one that commander prints, and stderr on a full disk end, too',
  async () => {
    await bench.importText(csv(0, 20_000));
    for (const words of [['companies', 'export'], ['--help']])
      expect((await runInto('> /dev/full', words)).code).toBe(1);
    expect((await runInto('2> /dev/full', ['account', 'show', 'acc_none'])).code).toBe(1);
  },
  100_000,
);

linux(
  'a closed stdout is an answer that can not be written',
  async () => {
    for (const words of [
      ['companies', 'export'],
      ['account', 'list'],
    ]) {
      const { code, errors } = await runInto('>&-', words);
      expect([code, errors]).toEqual([
        1,
        ['error: the answer could not be written: standard output is closed'],
      ]);
      expect(await runInto('> /dev/null', words)).toEqual({ code: 0, stdout: '', errors: [] });
    }
  },
  100_000,
);
