import nodemailer from 'nodemailer';
import { isLoopbackHost } from '../../platform/config/addresses.ts';
import { codeOf } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import { SECOND } from '../../platform/units.ts';
import { type Mail, type Reader, writeMail } from './mail-text.ts';

export type Mailer = ReturnType<typeof createMailer>;

/**
 * Whether mail is only sent over TLS. Otherwise an attacker on the way can strip STARTTLS and read reset links. Exempt are a
 * relay on this machine, and an address with its own choice (`?ignoreTLS=true`).
 */
function requiresTls(smtpUrl: string): boolean {
  const { hostname, searchParams } = new URL(smtpUrl);
  const isSaid = ['requireTLS', 'ignoreTLS', 'opportunisticTLS'].some((name) => searchParams.has(name));
  return !isSaid && !isLoopbackHost(hostname);
}

/** @param from `null` means `no-reply@` the host of `publicUrl` */
export function createMailer(
  smtpUrl: string,
  from: string | null,
  publicUrl: string,
  log: Pick<Log, 'error'>,
) {
  const transport = nodemailer.createTransport(
    {
      url: smtpUrl,
      requireTLS: requiresTls(smtpUrl),
      connectionTimeout: 10 * SECOND,
      greetingTimeout: 10 * SECOND,
      socketTimeout: 20 * SECOND,
      disableFileAccess: true,
      disableUrlAccess: true,
    },
    { from: from ?? `no-reply@${new URL(publicUrl).hostname}` },
  );
  const sending = new Set<Promise<unknown>>();

  async function sendNow(mail: Mail, reader: Promise<Reader | null> | Reader): Promise<boolean> {
    try {
      const to = await reader;
      const text = to && writeMail(mail, to);
      if (text === null) return false;
      await transport.sendMail(text);
      return true;
    } catch (error) {
      log.error({ about: mail.about, code: codeOf(error) }, 'a mail was not sent');
      return false;
    }
  }

  return {
    /**
     * Sends a mail, unless the account may not send it. A failure is logged, without the address and the link.
     * @param reader `null` means that nothing is sent
     * @returns whether the relay took it
     */
    send(mail: Mail, reader: Promise<Reader | null> | Reader): Promise<boolean> {
      const sent = sendNow(mail, reader).finally(() => sending.delete(sent));
      sending.add(sent);
      return sent;
    },
    async close(): Promise<void> {
      await Promise.all(sending);
      transport.close();
    },
  };
}
