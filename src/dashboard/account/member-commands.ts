import { type Command, InvalidArgumentError, Option } from 'commander';
import { requireAccount } from '../../metering/accounts/account-store.ts';
import { setSuspended } from '../../metering/accounts/changes.ts';
import { iso } from '../../metering/accounts/plan.ts';
import { type Config, defaultPublicUrl } from '../../platform/config/config.ts';
import { RefusedError } from '../../platform/errors.ts';
import { defineCommand, existingCommand } from '../../platform/terminal/command.ts';
import { printable, textTable } from '../../platform/terminal/text.ts';
import { name as readName } from '../../platform/terminal/values.ts';
import { findReader, MAILS, type Mail, type Reader } from '../auth/mail-text.ts';
import { changeMember, listMembers, type Role, resetSecondFactor } from '../auth/members.ts';
import { isEmail } from '../request/read-form.ts';
import { contactText } from '../ui/html.ts';
import {
  invitationLink,
  invitationMail,
  invite,
  listInvitations,
  withdrawInvitation,
} from './invitations.ts';

/** Each mail of a command is a connection, and a relay refuses a client that opens many. */
const MAILS_AT_ONCE = 5;

/** Commands about the members of an account, their invitations and its suspension (docs/commands.md). */
export function memberCommands(program: Command): void {
  const account = existingCommand(program, 'account');
  /** @param example its further arguments there */
  const ofAccount = (name: string, does: string, example = '', note = '') =>
    account
      .command(name)
      .argument('<id>')
      .description(does)
      .addHelpText(
        'after',
        `\nExample:\n  bun directory account ${name} acc_…${example}${note && `\n\n${note}`}`,
      );
  const ofEmail = (name: string, does: string, whose: string, note = '') =>
    ofAccount(name, does, ' --email maria@example.com', note).requiredOption(
      '--email <address>',
      whose,
      readEmail,
    );

  defineCommand(
    ofEmail(
      'invite',
      "print a one-time link to choose a password for the account's dashboard (a new one, for an existing member)",
      'email of the member',
      'The link begins with PUBLIC_URL, works once, and for seven days. Without --role a new member is an owner.',
    ).addOption(
      new Option('--role <role>', 'owners invite, remove, and delete the account').choices([
        'owner',
        'member',
      ]),
    ),
    `{id, email, link, expires, mailed}
With SMTP_URL the link is mailed, too, unless a suspended account invites a new member. For a member it is a password
reset, and with --role owner a promotion; without --role a member keeps theirs.`,
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
    ofAccount('invitations', 'invitations that nobody has accepted yet'),
    '[{email, role, actor, created, expires}]',
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
    ofEmail(
      'withdraw-invitation',
      'withdraw a pending invitation: its link is dead',
      'email that was invited',
    ),
    `{id, email, withdrawn}
Without a pending invitation it is refused.`,
    async ({ sql, actor }, id: string, { email }: { email: string }) => {
      if (!(await withdrawInvitation(sql, { accountId: id, email }, actor))) {
        throw new RefusedError(`${email} has no pending invitation to ${id}: see \`account invitations\``);
      }
      return { id, email, withdrawn: true };
    },
    ({ id, email }) => `the invitation of ${printable(email)} to ${id} is withdrawn`,
  );

  defineCommand(
    ofAccount('members', 'the members of an account, since when, and their last sign-in'),
    '[{email, name, role, since, lastSignIn, secondFactor}]',
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
    ofEmail(
      'remove-member',
      'remove a member, and their sessions and password; the last owner stays',
      'email of the member',
      'Keys go on working: see `key revoke`.',
    ),
    `{id, email, removed}
Their sessions, password and links end. The last owner is refused.`,
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
      "turn a member's second factor off, end their sessions, and tell them by mail",
      'email of the member who lost the app and the backup codes',
      'When a customer writes "I lost my phone", first make sure that it is the member who asks: the password alone signs in afterwards.',
    ),
    `{id, email, reset, mailed}
A member without a second factor is refused.`,
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

  defineCommand(
    ofAccount(
      'suspend',
      "answer 401 to the account's keys, end its members' sessions, and tell them by mail",
      ' --reason "Invoice 17 is overdue"',
    ).option('--reason <text>', 'why; its members see it in the dashboard and in a mail', readName),
    `{id, suspended, mailed}
The reason is in the dashboard, on its sign-in page in a member's browser, and in the mails; mailed is how many.`,
    async ({ sql, config, actor }, id: string, { reason = '' }: { reason?: string }) => {
      const isNew = await setSuspended(sql, id, true, actor, reason);
      const members = isNew ? await listMembers(sql, id) : [];
      const { name } = await requireAccount(sql, id);
      const mail = MAILS.suspended({ reason, contact: contactText(config.contact) });
      const account = { name, isSuspended: true };
      const readers = members
        .filter(({ emailVerified }) => emailVerified)
        .map(({ email: to, language }) => ({ to, language, account }));
      let mailed = 0;
      while (readers.length > 0) {
        const sent = readers.splice(0, MAILS_AT_ONCE).map((reader) => mailOnce(config, mail, reader));
        mailed += (await Promise.all(sent)).filter(Boolean).length;
      }
      return { id, suspended: true, mailed };
    },
    ({ id, mailed }) => `${id} is suspended; ${mailed} members were told by mail`,
  );

  defineCommand(
    ofAccount('resume', "let the account's keys work again"),
    '{id, suspended}',
    async ({ sql, actor }, id: string) => {
      await setSuspended(sql, id, false, actor);
      return { id, suspended: false };
    },
    ({ id }) => `${id} is not suspended`,
  );
}

function readEmail(text: string): string {
  if (isEmail(text.trim())) return text.trim().toLowerCase();
  throw new InvalidArgumentError('It must be an email address.');
}

/** The service's own address, as a command knows it. */
function publicUrlOf({ publicUrl, host, port }: Config): string {
  return publicUrl ?? defaultPublicUrl(host, port);
}

/**
 * Sends one mail of a command.
 * @returns whether the relay took it; `false` without SMTP_URL, and for a mail that a suspended account does not send, too
 */
async function mailOnce(config: Config, mail: Mail, reader: Reader): Promise<boolean> {
  const { smtpUrl, mailFrom } = config;
  if (smtpUrl === null) return false;
  const { createMailer } = await import('../auth/mail.ts');
  const error = ({ code }: { code?: string | null }) =>
    process.stderr.write(
      `warning: the mail was not sent (${code ?? 'no code'}): check SMTP_URL and the relay\n`,
    );
  const mailer = createMailer(smtpUrl, mailFrom, publicUrlOf(config), { error });
  return mailer.send(mail, reader).finally(mailer.close);
}
