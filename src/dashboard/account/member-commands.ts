import { type Command, InvalidArgumentError, Option } from 'commander';
import { requireAccount } from '../../metering/accounts/account-store.ts';
import { setSuspended } from '../../metering/accounts/changes.ts';
import { iso } from '../../metering/accounts/plan.ts';
import { type Config, defaultPublicUrl } from '../../platform/config/config.ts';
import { RefusedError } from '../../platform/errors.ts';
import { defineCommand } from '../../platform/terminal/command.ts';
import { defineList } from '../../platform/terminal/list-command.ts';
import { printable } from '../../platform/terminal/text.ts';
import { name as readName } from '../../platform/terminal/values.ts';
import { accountCommand } from '../account-data/account-data-commands.ts';
import { findReader, MAILS, type Mail, type Reader } from '../auth/mail-text.ts';
import {
  type AccountMember,
  changeMember,
  listMembers,
  type Role,
  resetSecondFactor,
} from '../auth/members.ts';
import { isEmail } from '../request/read-form.ts';
import { contactText } from '../ui/html.ts';
import {
  invitationLink,
  invitationMail,
  invite,
  listInvitations,
  type PendingInvitation,
  withdrawInvitation,
} from './invitations.ts';

/** Commands about the members of an account, their invitations and its suspension (docs/commands.md). */
export function memberCommands(program: Command): void {
  const ofEmail = (name: string, does: string, whose: string, note = '') =>
    accountCommand(program, name, does, ' --email maria@example.com', note).requiredOption(
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

  defineList<PendingInvitation>(
    accountCommand(program, 'invitations', 'invitations that nobody has accepted yet'),
    '[{email, role, actor, created, expires}]',
    async function* ({ sql }, id: string) {
      yield await listInvitations(sql, id);
    },
    [
      ['EMAIL', ({ email }) => email],
      ['ROLE', ({ role }) => role],
      ['BY', ({ actor }) => actor],
      ['CREATED', ({ created }) => iso(created)!],
      ['EXPIRES', ({ expires }) => iso(expires)!],
    ],
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

  defineList<Omit<AccountMember, 'id' | 'emailVerified' | 'language'>>(
    accountCommand(program, 'members', 'the members of an account, since when, and their last sign-in'),
    '[{email, name, role, since, lastSignIn, secondFactor}]',
    async function* ({ sql }, id: string) {
      await requireAccount(sql, id);
      const members = await listMembers(sql, id);
      yield members.map(({ id: _id, emailVerified: _verified, language: _language, ...member }) => member);
    },
    [
      ['EMAIL', ({ email }) => email],
      ['NAME', ({ name }) => name],
      ['ROLE', ({ role }) => role],
      ['SINCE', ({ since }) => iso(since)!],
      ['LAST SIGN-IN', ({ lastSignIn }) => iso(lastSignIn) ?? '–'],
      ['SECOND FACTOR', ({ secondFactor }) => (secondFactor ? 'on' : 'off')],
    ],
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
    accountCommand(
      program,
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
      let mailed = 0;
      // One after another, because each is a connection, and a relay refuses a client that opens many.
      for (const { email: to, language, emailVerified } of members)
        if (emailVerified && (await mailOnce(config, mail, { to, language, account }))) mailed += 1;
      return { id, suspended: true, mailed };
    },
    ({ id, mailed }) => `${id} is suspended; ${mailed} members were told by mail`,
  );

  defineCommand(
    accountCommand(program, 'resume', "let the account's keys work again"),
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
