import type { Command } from 'commander';
import { setSuspended } from '../../metering/accounts/changes.ts';
import { requireAccount } from '../../metering/accounts/store.ts';
import { defineCommand, existingCommand } from '../../platform/terminal/command.ts';
import { name as readName } from '../../platform/terminal/values.ts';
import { contactInMail, MAILS } from '../auth/mail-text.ts';
import { listMembers } from '../auth/members.ts';
import { mailOnce } from '../mails/command-mail.ts';

/** `account suspend` and `account resume` (contract, Command line). */
export function suspensionCommands(program: Command): void {
  const account = existingCommand(program, 'account');
  defineCommand(
    account
      .command('suspend')
      .argument('<id>')
      .option('--reason <text>', 'why; its members see it in the dashboard and in a mail', readName)
      .description("answer 401 to the account's keys, end its members' sessions, and tell them by mail")
      .addHelpText(
        'after',
        '\nExample:\n  bun directory account suspend acc_… --reason "Invoice 17 is overdue"',
      ),
    async ({ sql, config, actor }, id: string, { reason = '' }: { reason?: string }) => {
      const isNew = await setSuspended(sql, id, true, actor, reason);
      const members = isNew ? await listMembers(sql, id) : [];
      const { name } = await requireAccount(sql, id);
      const mail = MAILS.suspended({ reason, contact: contactInMail(config.contact) });
      const account = { name, isSuspended: true };
      const mails = members
        .filter(({ emailVerified }) => emailVerified)
        .map(({ email: to, language }) => mailOnce(config, mail, { to, language, account }));
      const mailed = (await Promise.all(mails)).filter(Boolean).length;
      return { id, suspended: true, mailed };
    },
    ({ id, mailed }) => `${id} is suspended; ${mailed} members were told by mail`,
  );

  defineCommand(
    account
      .command('resume')
      .argument('<id>')
      .description("let the account's keys work again")
      .addHelpText('after', '\nExample:\n  bun directory account resume acc_…'),
    async ({ sql, actor }, id: string) => {
      await setSuspended(sql, id, false, actor);
      return { id, suspended: false };
    },
    ({ id }) => `${id} is not suspended`,
  );
}
