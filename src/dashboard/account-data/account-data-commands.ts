import type { Command } from 'commander';
import { type HistoryEntry, wholeHistory } from '../../metering/account-data/history.ts';
import { iso } from '../../metering/accounts/plan.ts';
import { defineCommand, existingCommand, print } from '../../platform/terminal/command.ts';
import { defineList } from '../../platform/terminal/list-command.ts';
import { deleteAccount, exportAccount } from './wings.ts';

/** `account history`, `account export` and `account delete` (docs/commands.md). */
export function accountDataCommands(program: Command): void {
  const account = existingCommand(program, 'account');
  defineList<HistoryEntry>(
    account
      .command('history')
      .argument('<id>')
      .description('the changes of an account, with time and actor; also of a deleted one')
      .addHelpText(
        'after',
        `
When a customer writes "an invoice of last month": "credits" are what was bought and when, with its reference.

Example:
  bun directory account history acc_…`,
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
    account
      .command('export')
      .argument('<id>')
      .description('print everything stored about an account and its members, without secrets')
      .addHelpText(
        'after',
        `
When a customer writes "I was charged twice": it has the calls of each day and key, and what errors cost.

Example:
  bun directory account export acc_… > account.json`,
      ),
    'one JSON document, sent as it is read',
    async ({ sql }, id: string, { json }: { json?: boolean }) => {
      const write = (part: string) => print(json === true ? part.replaceAll('\n', '') : part);
      await exportAccount(sql, id, write);
      await print('\n');
    },
  );

  defineCommand(
    account
      .command('delete')
      .argument('<id>')
      .requiredOption('--yes', 'really: nothing brings the account back')
      .description('delete an account with its members, keys and names; its ledger stays without them')
      .addHelpText(
        'after',
        `
When a customer writes "delete my account": docs/data-protection.md has what stays, and for how long.

Example:
  bun directory account delete acc_… --yes`,
      ),
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
