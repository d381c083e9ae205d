import type { Command } from 'commander';
import { type HistoryEntry, wholeHistory } from '../../metering/account-data/history.ts';
import { iso } from '../../metering/accounts/plan.ts';
import { defineCommand, existingCommand, print } from '../../platform/terminal/command.ts';
import { defineList } from '../../platform/terminal/list-command.ts';
import { deleteAccount, exportAccount } from './wings.ts';

/**
 * A command `account <name> <id>`.
 * @param example its further arguments in the example
 */
export function accountCommand(program: Command, name: string, does: string, example = '', note = '') {
  return existingCommand(program, 'account')
    .command(name)
    .argument('<id>')
    .description(does)
    .addHelpText(
      'after',
      `\nExample:\n  bun directory account ${name} acc_…${example}${note && `\n\n${note}`}`,
    );
}

/** `account history`, `account export` and `account delete` (docs/commands.md). */
export function accountDataCommands(program: Command): void {
  defineList<HistoryEntry>(
    accountCommand(
      program,
      'history',
      'the changes of an account, with time and actor; also of a deleted one',
      '',
      'When a customer writes "an invoice of last month": "credits" are what was bought and when, with its reference.',
    ),
    `[{at, kind, actor, credits?, balance?, note?, reference?, key?, keyName?, detail?}]
The oldest is first.`,
    ({ sql }, id: string) => wholeHistory(sql, id),
    [
      ['AT', ({ at }) => at.toISOString()],
      ['KIND', ({ kind }) => kind],
      ['BY', ({ actor }) => actor],
      ['CREDITS', ({ credits }) => String(credits ?? '–')],
      ['BALANCE', ({ balance }) => String(balance ?? '–')],
      ['REFERENCE', ({ reference }) => reference ?? '–'],
      ['KEY', ({ key, keyName }) => (key === undefined ? '–' : `${key} ${keyName ?? ''}`.trim())],
      ['CHANGED TO', ({ detail }) => changedTo(detail)],
      ['NOTE', ({ note }) => note ?? '–'],
    ],
  );

  defineCommand(
    accountCommand(
      program,
      'export',
      'print everything stored about an account and its members, without secrets',
      ' > account.json',
      'When a customer writes "I was charged twice": it has the calls of each day and key, and what errors cost.',
    ),
    'one JSON document, sent as it is read',
    async ({ sql }, id: string, { json }: { json?: boolean }) => {
      const write = (part: string) => print(json === true ? part.replaceAll('\n', '') : part);
      await exportAccount(sql, id, write);
      await print('\n');
    },
  );

  defineCommand(
    accountCommand(
      program,
      'delete',
      'delete an account with its members, keys and names; its ledger stays without them',
      ' --yes',
      'When a customer writes "delete my account": docs/data-protection.md has what stays, and for how long.',
    ).requiredOption('--yes', 'really: nothing brings the account back'),
    `{id, deleted}
Keys are revoked; members, invitations and names are removed; the ledger stays.`,
    async ({ sql, actor }, id: string) => ({ id, deleted: await deleteAccount(sql, id, actor) }),
    ({ id, deleted }) => `${id} is deleted since ${iso(deleted)}`,
  );
}

/** The new values of a change, e.g. `plan=plus until=…`. */
function changedTo(detail: HistoryEntry['detail'] = {}): string {
  const values = Object.entries(detail).filter(([, value]) => value !== null);
  return values.map(([name, value]) => `${name}=${value}`).join(' ') || '–';
}
