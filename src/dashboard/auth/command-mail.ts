import { type Config, defaultPublicUrl } from '../../config/config.ts';
import { formatsOf, type Language } from '../ui/language.ts';
import { MESSAGES } from '../ui/messages.ts';
import type { TextMail } from './mail.ts';

/** The mail with the link of an invitation, in both languages, because the reader's is not known yet. */
export function invitationMail(invited: {
  email: string;
  account: string;
  link: string;
  expires: Date;
}): TextMail {
  const { email, account, link, expires } = invited;
  const text = (language: Language) =>
    MESSAGES[language].mailInvitation(account, formatsOf(language).instant(expires));
  const subject = MESSAGES.en.mailInvitationSubject(account);
  return { to: email, language: 'en', subject, text: `${text('en')}\n\n${text('pt')}\n\n${link}` };
}

/** The service's own address, as a command knows it. */
export function publicUrlOf({ publicUrl, host, port }: Config): string {
  return publicUrl ?? defaultPublicUrl(host, port);
}

/**
 * Sends one mail of a command.
 * @returns whether the relay took it; `false` without SMTP_URL, too
 */
export async function mailOnce(config: Config, mail: TextMail): Promise<boolean> {
  const { smtpUrl, mailFrom } = config;
  if (smtpUrl === null) return false;
  const { sendOnce } = await import('./mail.ts');
  return sendOnce(smtpUrl, mailFrom, publicUrlOf(config), mail).then(
    () => true,
    () => false,
  );
}
