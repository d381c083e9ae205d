import type { Config } from '../../config/config.ts';
import { formatsOf, type Language } from '../ui/language.ts';
import { MESSAGES } from '../ui/messages.ts';

/**
 * Sends the link of an invitation, in both languages, because the reader's is not known yet.
 *
 * @returns whether the relay took it; `false` without SMTP_URL, too
 */
export async function mailInvitation(
  { smtpUrl, mailFrom }: Config,
  publicUrl: string,
  { email, account, link, expires }: { email: string; account: string; link: string; expires: Date },
): Promise<boolean> {
  if (smtpUrl === null) return false;
  const { sendOnce } = await import('./mail.ts');
  const text = (language: Language) =>
    MESSAGES[language].mailInvitation(account, formatsOf(language).instant(expires));
  const subject = MESSAGES.en.mailInvitationSubject(account);
  const mail = {
    to: email,
    subject,
    text: `${text('en')}\n\n${text('pt')}\n\n${link}`,
    language: 'en',
  } as const;
  return sendOnce(smtpUrl, mailFrom, publicUrl, mail).then(
    () => true,
    () => false,
  );
}
