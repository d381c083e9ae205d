import type { Sql } from '../../platform/postgres/connect.ts';
import type { PageContext } from '../context.ts';
import { MESSAGES, type Messages } from '../messages.ts';
import { type Formats, formatsOf, type Language } from '../ui/language.ts';
import { filled } from '../ui/states.ts';

/** The address that a mail goes to, and the account that it is about. */
export interface Reader {
  to: string;
  /** Of their latest visit; `null` means that it is not known. */
  language: Language | null;
  /** `null` means that there is none, or that the address may be a stranger's. */
  account: { name: string; isSuspended: boolean } | null;
}

export interface Mail {
  /** A suspended account sends no mail about its use, its keys, its plan and its members. */
  about: 'security' | 'suspension' | 'account';
  /** A stranger's mail has no account's name, because a customer could write the mail by it. */
  to: 'member' | 'stranger';
  /** The subject in one language, and the paragraphs, of which empty ones are left out. */
  write(messages: Messages, formats: Formats): [subject: string, ...paragraphs: (string | null)[]];
}

interface Link {
  url: string;
}

interface TimedLink extends Link {
  expires: Date;
}

/** The names of texts without values. */
export type Plain = {
  [Name in keyof Messages]: Messages[Name] extends string ? Name : never;
}[keyof Messages];

/** A mail about security with one link. */
const linkMail =
  (to: Mail['to'], subject: Plain, lead: Plain, end: Plain | null = null) =>
  ({ url }: Link): Mail => ({
    about: 'security',
    to,
    write: (messages) => [messages[subject], messages[lead], url, end && messages[end]],
  });

/** One with a link to a password, and the end of what it tells. */
const timedMail =
  (subject: Plain, lead: 'mailNewPassword' | 'mailCodeLock') =>
  ({ url, expires }: TimedLink): Mail => ({
    about: 'security',
    to: 'member',
    write: (messages, { instant }) => [messages[subject], messages[lead](instant(expires)), url],
  });

/** The mails that have one link and no other value. */
const LINK_MAILS = {
  confirm: linkMail('stranger', 'confirmTitle', 'mailConfirm', 'mailIgnore'),
  /** Answers a sign-up, or a change of email, with the email of an existing user. */
  exists: linkMail('member', 'mailExistsSubject', 'mailExists', 'mailIgnore'),
  reset: linkMail('member', 'resetTitle', 'mailReset', 'mailIgnore'),
  'new-email': linkMail('stranger', 'confirmTitle', 'mailNewEmail', 'mailIgnore'),
  'change-asked': linkMail('member', 'mailChangeAskedSubject', 'mailChangeAsked'),
  /** To the previous address. */
  'email-changed': linkMail('member', 'mailChangedSubject', 'mailChanged'),
  'password-changed': linkMail('member', 'mailPasswordChangedSubject', 'mailPasswordChanged'),
  'second-factor-on': linkMail('member', 'mailSecondFactorOnSubject', 'mailNotYou'),
  'second-factor-off': linkMail('member', 'mailSecondFactorOffSubject', 'mailNotYou'),
  'second-factor-reset': linkMail('member', 'mailSecondFactorOffSubject', 'mailSecondFactorReset'),
  'backup-codes': linkMail('member', 'mailBackupCodesSubject', 'mailNotYou'),
};

/** Every mail that is sent for a request or a command, by its values. */
export const MAILS = {
  ...LINK_MAILS,
  /** An operator's link for a member, which is the reset of a service without mail. */
  'new-password': timedMail('resetTitle', 'mailNewPassword'),
  /** To a user whose password somebody knows who guesses codes of the second factor. */
  'code-lock': timedMail('mailCodeLockSubject', 'mailCodeLock'),
  /** @param client the host of an agent's client, which it has proved */
  connected: ({ client, url }: Link & { client: string }): Mail => ({
    about: 'security',
    to: 'member',
    write: (messages) => [
      messages.mailConnectedSubject,
      messages.mailConnected(client),
      url,
      messages.mailConnectedEnd,
    ],
  }),
  suspended: ({ reason, contact }: { reason: string; contact: string | null }): Mail => ({
    about: 'suspension',
    to: 'member',
    write: (messages, { instant }) => [
      messages.mailSuspendedSubject,
      filled(messages.states.suspended, [instant(new Date())]),
      reason === '' ? null : messages.suspendedReason(reason),
      contact,
    ],
  }),
  /** @param by the email of the member who deleted the account */
  deleted: ({ by }: { by: string }): Mail => ({
    about: 'security',
    to: 'member',
    write: (messages) => [messages.mailDeletedSubject, messages.mailDeleted(by), messages.mailDeletedEnd],
  }),
  /** @param inviter the confirmed address of the owner who invites; `null` for the operator */
  invitation: ({
    inviter,
    isElsewhere,
    url,
    expires,
  }: TimedLink & { inviter: string | null; isElsewhere: boolean }): Mail => ({
    about: 'account',
    to: 'stranger',
    write: (messages, { instant }) => [
      messages.mailInvitationSubject,
      inviter === null ? messages.mailInvitedByOperator : messages.mailInvitedBy(inviter),
      messages[isElsewhere ? 'mailInvitationElsewhere' : 'mailInvitation'](instant(expires)),
      url,
      messages.mailInvitationIgnore,
    ],
  }),
};

const MAX_NAME = 60;

/** The name of an account or a key in a mail. A longer one is cut, because its author could write the mail by it. */
export function nameInMail(name: string): string {
  const characters = [...name];
  return characters.length <= MAX_NAME ? name : `${characters.slice(0, MAX_NAME).join('')}…`;
}

const SEPARATOR = '\n\n――――――――――\n\n';

/**
 * Writes a mail in both languages, the reader's first, because a mailbox can have other readers.
 * @returns `null` for a mail that a suspended account does not send
 */
export function writeMail(mail: Mail, { to, language, account }: Reader) {
  if (mail.about === 'account' && account?.isSuspended === true) return null;
  const written = (language: Language) => {
    const messages = MESSAGES[language];
    const [subject, ...paragraphs] = mail.write(messages, formatsOf(language));
    const named = mail.to === 'member' && account !== null && messages.mailAccount(nameInMail(account.name));
    const text = [named, ...paragraphs, messages.brand].filter(Boolean).join('\n\n');
    return { subject: `${messages.brand}: ${subject}`, text };
  };
  const [first, second] = language === 'pt' ? [written('pt'), written('en')] : [written('en'), written('pt')];
  return { to, subject: first.subject, text: `${first.text}${SEPARATOR}${second.text}\n` };
}

/**
 * The reader of a mail to an email. Only a confirmed address of a member has an account: an unconfirmed one may be a stranger's.
 * @param language if that of the reader is not known
 */
export async function findReader(sql: Sql, email: string, language: Language): Promise<Reader> {
  const [member] = await sql<{ language: Language | null; name: string; isSuspended: boolean }[]>`
    SELECT m.language, a.name, a.suspended_at IS NOT NULL AS "isSuspended"
    FROM dashboard_users u JOIN dashboard_members m ON m.user_id = u."id" JOIN accounts a ON a.id = m.account_id
    WHERE u."email" = ${email.toLowerCase()} AND u."emailVerified"`;
  if (member === undefined) return { to: email, language, account: null };
  const { name, isSuspended } = member;
  return { to: email, language: member.language ?? language, account: { name, isSuspended } };
}

/** Mails a user a link in the background, in the language of their latest visit. @param path below the dashboard */
export function tell(
  { tools, messages }: PageContext,
  email: string,
  mail: keyof typeof LINK_MAILS,
  path: string,
): void {
  const url = `${tools.publicUrl}/dashboard${path}`;
  void tools.mailer?.send(MAILS[mail]({ url }), findReader(tools.sql, email, messages.language));
}
