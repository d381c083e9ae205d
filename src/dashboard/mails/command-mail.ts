import { type Config, defaultPublicUrl } from '../../platform/config/config.ts';
import type { Mail, Reader } from '../auth/mail-text.ts';

/** The service's own address, as a command knows it. */
export function publicUrlOf({ publicUrl, host, port }: Config): string {
  return publicUrl ?? defaultPublicUrl(host, port);
}

/**
 * Sends one mail of a command.
 * @returns whether the relay took it; `false` without SMTP_URL, and for a mail that a suspended account does not send, too
 */
export async function mailOnce(config: Config, mail: Mail, reader: Reader): Promise<boolean> {
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
