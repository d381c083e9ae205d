import { type Formats, formatsOf, type Language } from '../ui/language.ts';
import { MESSAGES, type Messages } from '../ui/messages.ts';
import { filled } from '../ui/state-text.ts';

/** The address that a mail goes to, and the account that it is about. */
export interface Reader {
  to: string;
  /** Of their latest visit; `null` means that it is not known. */
  language: Language | null;
  /** `null` means that there is none, or that the address may be a stranger's. */
  account: { name: string; isSuspended: boolean } | null;
}

/** A mail as it is sent. */
export interface TextMail {
  to: string;
  subject: string;
  text: string;
}

/** The subject in one language, and the paragraphs, of which empty ones are left out. */
type Written = [subject: string, ...paragraphs: (string | null)[]];

interface Mail<Values> {
  /** A suspended account sends no mail about its use, its keys, its plan and its members. */
  about: 'security' | 'suspension' | 'account';
  /** A stranger's mail has no account's name, because a customer could write the mail by it. */
  to: 'member' | 'stranger';
  write(messages: Messages, values: Values, formats: Formats): Written;
}

interface Link {
  url: string;
}

interface TimedLink extends Link {
  expires: Date;
}

interface InvitationLink extends TimedLink {
  /** The confirmed address of the owner who invites; `null` for the operator. */
  inviter: string | null;
}

/** The values of a mail that a member can turn off. */
interface Switchable {
  /** The page where a member does it. */
  settings: string;
}

const mail = <Values>(
  about: Mail<Values>['about'],
  to: Mail<Values>['to'],
  write: Mail<Values>['write'],
) => ({
  about,
  to,
  write,
});

/** The names of texts without values. */
type Plain = { [Name in keyof Messages]: Messages[Name] extends string ? Name : never }[keyof Messages];

/** A mail about security with one link. */
const linkMail = (to: Mail<Link>['to'], subject: Plain, lead: Plain, end: Plain | null = null) =>
  mail('security', to, (messages, { url }: Link) => [
    messages[subject],
    messages[lead],
    url,
    end && messages[end],
  ]);

const invitation = (texts: (messages: Messages, until: string) => string) =>
  mail('account', 'stranger', (messages, { inviter, url, expires }: InvitationLink, { instant }) => [
    messages.mailInvitationSubject,
    inviter === null ? messages.mailInvitedByOperator : messages.mailInvitedBy(inviter),
    texts(messages, instant(expires)),
    url,
    messages.mailInvitationIgnore,
  ]);

const turnOff = (messages: Messages, { settings }: Switchable) => `${messages.mailUsageOff}\n${settings}`;

/** Every mail of the service. */
export const MAILS = {
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
  'code-lock': mail('security', 'member', (messages, { url, until }: Link & { until: Date }, formats) => [
    messages.mailCodeLockSubject,
    messages.mailCodeLock(formats.instant(until)),
    url,
  ]),
  /** An operator's link for a member, which is the reset of a service without mail. */
  'new-password': mail('security', 'member', (messages, { url, expires }: TimedLink, formats) => [
    messages.resetTitle,
    messages.mailNewPassword(formats.instant(expires)),
    url,
  ]),
  suspended: mail(
    'suspension',
    'member',
    (messages, values: { reason: string; contact: string | null }, formats) => [
      messages.mailSuspendedSubject,
      filled(messages.states.suspended, [formats.instant(new Date())]),
      values.reason === '' ? null : messages.suspendedReason(values.reason),
      values.contact,
    ],
  ),
  invitation: invitation((messages, until) => messages.mailInvitation(until)),
  /** To a user of another account. */
  'invitation-elsewhere': invitation((messages, until) => messages.mailInvitationElsewhere(until)),
  usage: mail('account', 'member', (messages, values: UsageValues, { number, date }) => {
    const { used, included, periodEnd, purchased, buy } = values;
    const lead = messages.mailUsage(number(used), number(included), date(periodEnd));
    const next = purchased > 0 ? messages.mailUsagePurchased(number(purchased)) : messages.mailUsageStops;
    return [
      messages.mailUsageSubject(number(Math.floor((used * 100) / included))),
      `${lead} ${next}`,
      buy && `${messages.buyCredits}: ${buy}`,
      turnOff(messages, values),
    ];
  }),
  keys: mail('account', 'member', (messages, values: KeyValues, { end, moment }) => {
    const { stage, keys } = values;
    const lines = keys.map(({ name, start, endsAt, url }) => {
      const at = stage === 'revoked' ? `${moment(endsAt)} UTC` : end(endsAt);
      return `- ${nameInMail(name) || messages.unnamed} (${start}…), ${at}\n  ${url}`;
    });
    return [
      messages.mailKeySubject[stage],
      messages.mailKeyLead[stage],
      lines.join('\n'),
      turnOff(messages, values),
    ];
  }),
  plan: mail('account', 'member', (messages, values: PlanValues, { number, end }) => {
    const { stage, until, contact } = values;
    const day = end(until);
    const [calls, rate, keys] = [values.calls, values.rate, values.keys].map(number) as [
      string,
      string,
      string,
    ];
    return [
      messages.mailPlanSubject[stage],
      stage === 'week'
        ? filled(messages.states.lapsesSoon, [day], [], [calls, keys])
        : messages.mailPlanEnded(day, calls, rate, keys),
      [messages.mailPlanRenew, contact].filter(Boolean).join(' '),
      turnOff(messages, values),
    ];
  }),
};

interface UsageValues extends Switchable {
  used: number;
  included: number;
  periodEnd: Date;
  /** Purchased credits that pay for calls beyond the plan. */
  purchased: number;
  buy: string | null;
}

interface KeyValues extends Switchable {
  stage: 'week' | 'day' | 'expired' | 'revoked';
  keys: { name: string; start: string; endsAt: Date; url: string }[];
}

interface PlanValues extends Switchable {
  stage: 'week' | 'ended';
  until: Date;
  /** Of the Free plan. */
  calls: number;
  rate: number;
  keys: number;
  contact: string | null;
}

export type MailName = keyof typeof MAILS;
export type ValuesOf<Name extends MailName> = Parameters<(typeof MAILS)[Name]['write']>[1];

const MAX_NAME = 60;

/** The name of an account or a key in a mail. A longer one is cut, because its author could write the mail by it. */
function nameInMail(name: string): string {
  const characters = [...name];
  return characters.length <= MAX_NAME ? name : `${characters.slice(0, MAX_NAME).join('')}…`;
}

/** The operator's CONTACT in a mail: the address alone of a `mailto:`. */
export function contactInMail(contact: string | null): string | null {
  const address = /^mailto:([^?]+)/i.exec(contact ?? '')?.[1];
  return address === undefined ? contact : decodeURIComponent(address);
}

const SEPARATOR = '\n\n――――――――――\n\n';

/**
 * Writes a mail in both languages, the reader's first, because a mailbox can have other readers.
 * @returns `null` for a mail that a suspended account does not send
 */
export function writeMail<Name extends MailName>(
  name: Name,
  { to, language, account }: Reader,
  values: ValuesOf<Name>,
): TextMail | null {
  const { about, to: kind, write } = MAILS[name] as unknown as Mail<ValuesOf<Name>>;
  if (about === 'account' && account?.isSuspended === true) return null;
  const languages: Language[] = language === 'pt' ? ['pt', 'en'] : ['en', 'pt'];
  const [first, second] = languages.map((language) => {
    const messages = MESSAGES[language];
    const [subject, ...paragraphs] = write(messages, values, formatsOf(language));
    const ofAccount = kind === 'member' && account !== null && messages.mailAccount(nameInMail(account.name));
    const text = [ofAccount, ...paragraphs, messages.brand].filter(Boolean).join('\n\n');
    return { subject: `${messages.brand}: ${subject}`, text };
  }) as [Omit<TextMail, 'to'>, Omit<TextMail, 'to'>];
  return { to, subject: first.subject, text: `${first.text}${SEPARATOR}${second.text}\n` };
}
