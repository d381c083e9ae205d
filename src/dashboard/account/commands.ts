import { type Command, InvalidArgumentError } from 'commander';
import { iso } from '../../metering/accounts/plan.ts';
import { requireAccount } from '../../metering/accounts/store.ts';
import { RefusedError } from '../../platform/errors.ts';
import { defineCommand, existingCommand } from '../../platform/terminal/command.ts';
import { printable, textTable } from '../../platform/terminal/text.ts';
import { oneOfWords } from '../../platform/terminal/values.ts';
import { MAILS } from '../auth/mail-text.ts';
import type { Role } from '../auth/members.ts';
import { changeMember, listMembers, resetSecondFactor } from '../auth/members.ts';
import { findReader } from '../auth/reader.ts';
import { mailOnce, publicUrlOf } from '../mails/command-mail.ts';
import { isEmail } from '../request/read-form.ts';
import { invitationLink, invitationMail, invite } from './invitations.ts';
import { listInvitations, withdrawInvitation } from './pending-invitations.ts';

/** Commands about the members of an account, and about invitations (contract, Command line). */
export function memberCommands(program: Command): void {
  const account = existingCommand(program, 'account');
  const ofEmail = (name: string, whose: string, note = '') =>
    account
      .command(name)
      .argument('<id>')
      .requiredOption('--email <address>', whose, readEmail)
      .addHelpText(
        'after',
        `\nExample:\n  bun directory account ${name} acc_… --email maria@example.com${note && `\n\n${note}`}`,
      );

  const inviteCommand = ofEmail(
    'invite',
    'who signs in with it',
    'The link begins with PUBLIC_URL, works once, and for seven days. Without --role a new member is an owner.',
  )
    .option(
      '--role <role>',
      'owner or member: owners invite, remove, and delete the account',
      oneOfWords<Role>('owner', 'member'),
    )
    .description(
      "print a one-time link to choose a password for the account's dashboard (a new one, for an existing member)",
    );
  defineCommand(
    inviteCommand,
    async ({ sql, config, actor }, id: string, { email, role }: { email: string; role?: Role }) => {
      const invited = await invite(sql, { accountId: id, email, role }, actor);
      const publicUrl = publicUrlOf(config);
      const mailed = await mailOnce(config, ...invitationMail(invited, publicUrl, null));
      const { token, expires } = invited;
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
    ofEmail('withdraw-invitation', 'who was invited').description(
      'withdraw a pending invitation: its link is dead',
    ),
    async ({ sql, actor }, id: string, { email }: { email: string }) => {
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
    ofEmail('remove-member', 'who is removed', 'Keys go on working: see `key revoke`.').description(
      'remove a member, and their sessions and password; the last owner stays',
    ),
    async ({ sql, actor }, id: string, { email }: { email: string }) => {
      const removed = await changeMember(sql, id, (member) => member.email === email, 'removed', actor);
      if (removed === null) throw new RefusedError(`${email} is no member of ${id}: see \`account members\``);
      if (removed === 'last') {
        throw new RefusedError(`${email} is the last owner: invite another first, or see \`account delete\``);
      }
      return { id, email, removed: true };
    },
    ({ id, email }) => `${printable(email)} is no member of ${id} any more`,
  );

  defineCommand(
    ofEmail(
      'reset-second-factor',
      'who lost the app and the backup codes',
      'First make sure that it is the member who asks: the password alone signs in afterwards.',
    ).description("turn a member's second factor off, end their sessions, and tell them by mail"),
    async ({ sql, config, actor }, id: string, { email }: { email: string }) => {
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
  if (isEmail(text.trim())) return text.trim().toLowerCase();
  throw new InvalidArgumentError('It must be an email address.');
}
