import { type Command, InvalidArgumentError } from 'commander';
import { iso } from '../../metering/accounts/plan.ts';
import { requireAccount } from '../../metering/accounts/store.ts';
import { RefusedError } from '../../platform/errors.ts';
import { defineCommand, existingCommand } from '../../platform/terminal/command.ts';
import { printable, textTable } from '../../platform/terminal/text.ts';
import { oneOfWords } from '../../platform/terminal/values.ts';
import { MAILS } from '../auth/mail-text.ts';
import type { Role } from '../auth/members.ts';
import { listMembers, removeMember, resetSecondFactor } from '../auth/members.ts';
import { findReader } from '../auth/reader.ts';
import { mailOnce, publicUrlOf } from '../mails/command-mail.ts';
import { isEmail } from '../request/read-form.ts';
import { invitationLink, invitationMail, invite } from './invitations.ts';
import { listInvitations, withdrawInvitation } from './pending-invitations.ts';

/** Commands about the members of an account, and about invitations (contract, Command line). */
export function memberCommands(program: Command): void {
  const account = existingCommand(program, 'account');
  const inviteCommand = account
    .command('invite')
    .argument('<id>')
    .requiredOption('--email <address>', 'who signs in with it', readEmail)
    .option(
      '--role <role>',
      'owner or member: owners invite, remove, and delete the account',
      oneOfWords<Role>('owner', 'member'),
    )
    .description(
      "print a one-time link to choose a password for the account's dashboard (a new one, for an existing member)",
    )
    .addHelpText(
      'after',
      '\nExample:\n  bun directory account invite acc_… --email maria@example.com\n\nThe link begins with PUBLIC_URL, works once, and for seven days. Without --role a new member is an owner.',
    );
  defineCommand(
    inviteCommand,
    async ({ sql, config, actor }, id: string, { email: address, role }: { email: string; role?: Role }) => {
      const invited = await invite(sql, { accountId: id, email: address, role }, actor);
      const publicUrl = publicUrlOf(config);
      const mailed = await mailOnce(config, ...invitationMail(invited, publicUrl, null));
      const { email, token, expires } = invited;
      return { id, email, link: invitationLink(publicUrl, token), expires, mailed };
    },
    ({ email, link, expires, mailed }) =>
      `${link}\n\nFor ${printable(email)}, once, until ${iso(expires)}. ${mailed ? 'It was sent by mail, too.' : 'It was not sent by mail.'}`,
  );

  defineCommand(
    account
      .command('invitations')
      .argument('<id>')
      .description('invitations that nobody has accepted yet')
      .addHelpText('after', '\nExample:\n  bun directory account invitations acc_…'),
    ({ sql }, id: string) => listInvitations(sql, id),
    (invitations) =>
      textTable([
        ['EMAIL', 'ROLE', 'BY', 'CREATED', 'EXPIRES'],
        ...invitations.map(({ email, role, actor, created, expires }) => [
          email,
          role,
          actor,
          iso(created)!,
          iso(expires)!,
        ]),
      ]),
  );

  defineCommand(
    account
      .command('withdraw-invitation')
      .argument('<id>')
      .requiredOption('--email <address>', 'who was invited', readEmail)
      .description('withdraw a pending invitation: its link is dead')
      .addHelpText(
        'after',
        '\nExample:\n  bun directory account withdraw-invitation acc_… --email maria@example.com',
      ),
    async ({ sql, actor }, id: string, { email: address }: { email: string }) => {
      const email = address.toLowerCase();
      if (!(await withdrawInvitation(sql, { accountId: id, email }, actor))) {
        throw new RefusedError(`${email} has no pending invitation to ${id}: see \`account invitations\``);
      }
      return { id, email, withdrawn: true };
    },
    ({ id, email }) => `the invitation of ${printable(email)} to ${id} is withdrawn`,
  );

  defineCommand(
    account
      .command('members')
      .argument('<id>')
      .description('who signs in to an account, since when, and when they last did')
      .addHelpText('after', '\nExample:\n  bun directory account members acc_…'),
    async ({ sql }, id: string) => {
      await requireAccount(sql, id);
      const members = await listMembers(sql, id);
      return members.map(({ id: _id, emailVerified: _verified, language: _language, ...member }) => member);
    },
    (members) =>
      textTable([
        ['EMAIL', 'NAME', 'ROLE', 'SINCE', 'LAST SIGN-IN', 'SECOND FACTOR'],
        ...members.map(({ email, name, role, since, lastSignIn, secondFactor }) => [
          email,
          name,
          role,
          iso(since)!,
          iso(lastSignIn) ?? '–',
          secondFactor ? 'on' : 'off',
        ]),
      ]),
  );

  defineCommand(
    account
      .command('remove-member')
      .argument('<id>')
      .requiredOption('--email <address>', 'who is removed', readEmail)
      .description('remove a member, and their sessions and password; the last owner stays')
      .addHelpText(
        'after',
        '\nExample:\n  bun directory account remove-member acc_… --email maria@example.com\n\nKeys go on working: see `key revoke`.',
      ),
    async ({ sql, actor }, id: string, { email: address }: { email: string }) => {
      const email = address.toLowerCase();
      const removed = await removeMember(sql, id, (member) => member.email === email, actor);
      if (removed === null) throw new RefusedError(`${email} is no member of ${id}: see \`account members\``);
      if (removed === 'last') {
        throw new RefusedError(`${email} is the last owner: invite another first, or see \`account delete\``);
      }
      return { id, email, removed: true };
    },
    ({ id, email }) => `${printable(email)} is no member of ${id} any more`,
  );

  defineCommand(
    account
      .command('reset-second-factor')
      .argument('<id>')
      .requiredOption('--email <address>', 'who lost the app and the backup codes', readEmail)
      .description("turn a member's second factor off, end their sessions, and tell them by mail")
      .addHelpText(
        'after',
        '\nExample:\n  bun directory account reset-second-factor acc_… --email maria@example.com\n\nFirst make sure that it is the member who asks: the password alone signs in afterwards.',
      ),
    async ({ sql, config, actor }, id: string, { email: address }: { email: string }) => {
      const email = address.toLowerCase();
      if (!(await resetSecondFactor(sql, id, email, actor)))
        throw new RefusedError(
          `${email} is no member of ${id} with a second factor: see \`account members\``,
        );
      const url = `${publicUrlOf(config)}/dashboard/settings/second-factor`;
      const reader = await findReader(sql, email, 'en');
      const mailed = await mailOnce(config, MAILS['second-factor-reset']({ url }), reader);
      return { id, email, reset: true, mailed };
    },
    ({ email, mailed }) =>
      `the second factor of ${printable(email)} is off${mailed ? ', and a mail says so' : '; no mail was sent'}`,
  );
}

function readEmail(text: string): string {
  if (isEmail(text.trim())) return text.trim();
  throw new InvalidArgumentError('It must be an email address.');
}
