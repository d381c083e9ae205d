import { type Config, defaultPublicUrl } from '../../platform/config/config.ts';
import type { TextMail } from '../auth/mail-text.ts';

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
  const { createMailer } = await import('../auth/mail.ts');
  const mailer = createMailer(smtpUrl, mailFrom, publicUrlOf(config), { error() {} });
  return mailer
    .sendText(mail)
    .then(
      () => true,
      () => false,
    )
    .finally(mailer.close);
}
