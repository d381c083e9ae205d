import { formatsOf, type Language } from '../ui/language.ts';
import { MESSAGES } from '../ui/messages.ts';

/** A message with one link in it. */
export interface LinkMail {
  /**
   * `exists` answers a sign-up, or a change of email, with the email of an existing user. `new-email` confirms a change of
   * email; `change-asked` and `changed` warn the previous address. `second-factor-on` and `second-factor-off` tell of a change.
   */
  kind:
    | 'confirm'
    | 'reset'
    | 'exists'
    | 'new-email'
    | 'change-asked'
    | 'changed'
    | `second-factor-${'on' | 'off'}`;
  to: string;
  url: string;
  language: Language;
}

export interface TextMail {
  to: string;
  subject: string;
  text: string;
  language: Language;
}

const MAX_NAME = 60;

/** The name of an account or a key in a mail. A longer one is cut, because its author could write the mail by it. */
export function nameInMail(name: string): string {
  const characters = [...name];
  return characters.length <= MAX_NAME ? name : `${characters.slice(0, MAX_NAME).join('')}…`;
}

export function linkMail({ kind, to, url, language }: LinkMail): TextMail {
  const messages = MESSAGES[language];
  const ignore = `\n\n${messages.mailIgnore}`;
  const [subject, lead, end] = {
    confirm: [messages.confirmTitle, messages.mailConfirm, ignore],
    reset: [messages.resetTitle, messages.mailReset, ignore],
    exists: [messages.mailExistsSubject, messages.mailExists, ignore],
    'new-email': [messages.confirmTitle, messages.mailNewEmail, ignore],
    'change-asked': [messages.mailChangeAskedSubject, messages.mailChangeAsked, ''],
    changed: [messages.mailChangedSubject, messages.mailChanged, ''],
    'second-factor-on': [messages.mailSecondFactorOnSubject, messages.mailNotYou, ''],
    'second-factor-off': [messages.mailSecondFactorOffSubject, messages.mailNotYou, ''],
  }[kind] as [string, string, string];
  return { to, subject, text: `${lead}\n\n${url}${end}`, language };
}

/** The mail with the link of an invitation, in both languages, because the reader's is not known yet. */
export function invitationMail(invited: {
  email: string;
  accountName: string;
  link: string;
  expires: Date;
}): TextMail {
  const { email, link, expires } = invited;
  const account = nameInMail(invited.accountName);
  const text = (language: Language) =>
    MESSAGES[language].mailInvitation(account, formatsOf(language).instant(expires));
  const subject = MESSAGES.en.mailInvitationSubject(account);
  return { to: email, language: 'en', subject, text: `${text('en')}\n\n${text('pt')}\n\n${link}` };
}
