import type { Sql } from '../../src/platform/postgres/connect.ts';
import { commandNames } from '../platform/terminal/command-names.ts';
import { type Load, repeat } from './repeat.ts';

/** Commands that read or change no account with many rows. */
const OF_NO_ACCOUNT = ['migrate', 'account create', 'companies', 'debts', 'index', 'backup', 'restore'];

/**
 * The words of every command about an account, in an order in which all succeed.
 * @throws Error for a command of the program that is not listed
 */
export async function commandsAbout(
  sql: Sql,
  { accountId, keyId, memberId }: Record<'accountId' | 'keyId' | 'memberId', string>,
): Promise<string[][]> {
  const [member] = await sql<{ email: string }[]>`
    UPDATE dashboard_users SET "twoFactorEnabled" = true WHERE "id" = ${memberId} RETURNING "email"`;
  const email = ['--email', member!.email];
  const words: Record<string, string[]> = {
    'account show': [accountId],
    'account list': [],
    'account plan': [accountId, 'plus'],
    'account limits': [accountId, '--included-credits', 'plan'],
    'account credits': [accountId, '--add', '1'],
    'account suspend': [accountId],
    'account resume': [accountId],
    'account members': [accountId],
    'account reset-second-factor': [accountId, ...email],
    'account remove-member': [accountId, ...email],
    'account invite': [accountId, ...email],
    'account invitations': [accountId],
    'account withdraw-invitation': [accountId, ...email],
    'account history': [accountId],
    'account activity': [accountId],
    'account export': [accountId],
    'key list': [accountId],
    'key show': [keyId],
    'key rotate': [keyId],
    'key limit': [keyId, '--only', 'all'],
    'key expire': [keyId, '--never'],
    'key revoke': [keyId],
    'key create': [accountId],
    'account delete': [accountId, '--yes'],
  };
  const others = (await commandNames()).filter((name) => !OF_NO_ACCOUNT.some((of) => name.startsWith(of)));
  const missing = others.filter((name) => words[name] === undefined);
  if (missing.length > 0) throw new Error(`not measured beside a neighbour: ${missing.join(', ')}`);
  return Object.entries(words).map(([name, further]) => [...name.split(' '), ...further]);
}

/** Runs each command once, one after another. */
export const runCommands = (
  checkout: string,
  environment: Record<string, string>,
  commands: string[][],
): Load =>
  repeat(
    1,
    commands,
    async (words) => {
      const beganAtMs = performance.now();
      const child = Bun.spawn([process.execPath, 'src/main.ts', ...words], {
        cwd: checkout,
        env: { ...process.env, ...environment },
        stdout: 'ignore',
      });
      const code = await child.exited;
      const seconds = (performance.now() - beganAtMs) / 1000;
      if (code !== 0 || seconds > 2)
        process.stdout.write(`  ${words.join(' ')}: ${seconds.toFixed(1)} s, exit ${code}\n`);
      return code;
    },
    true,
  );
