import type { Config } from '../../config/config.ts';
import { formatsOf, type Language } from '../ui/language.ts';
import { MESSAGES, type Messages } from '../ui/messages.ts';

/** The mail with the link of an invitation, in both languages, because the reader's is not known yet. */
export function invitationMail(invited: { email: string; account: string; link: string; expires: Date }) {
  const { email, account, link, expires } = invited;
  const text = (language: Language) =>
    MESSAGES[language].mailInvitation(account, formatsOf(language).instant(expires));
  const subject = MESSAGES.en.mailInvitationSubject(account);
  const both = `${text('en')}\n\n${text('pt')}\n\n${link}`;
  return { to: email, language: 'en' as const, subject: () => subject, text: () => both };
}

/**
 * Sends one mail of a command, in a member's language.
 * @returns whether the relay took it; `false` without SMTP_URL, too
 */
export async function mailOnce(
  { smtpUrl, mailFrom }: Config,
  publicUrl: string,
  mail: {
    to: string;
    language: Language | null;
    subject(messages: Messages): string;
    text(messages: Messages): string;
  },
): Promise<boolean> {
  if (smtpUrl === null) return false;
  const { sendOnce } = await import('./mail.ts');
  const language = mail.language ?? 'en';
  const messages = MESSAGES[language];
  const { to } = mail;
  const sent = { to, language, subject: mail.subject(messages), text: mail.text(messages) };
  return sendOnce(smtpUrl, mailFrom, publicUrl, sent).then(
    () => true,
    () => false,
  );
}
