import nodemailer from 'nodemailer';
import { isLoopbackHost } from '../../config/addresses.ts';
import { codeOf } from '../../errors.ts';
import type { Log } from '../../observability/log.ts';
import { SECOND } from '../../units.ts';
import type { Language } from '../ui/language.ts';
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

/** Sends one mail and closes the connection. @throws if the relay did not take it */
export async function sendOnce(
  smtpUrl: string,
  from: string | null,
  publicUrl: string,
  mail: TextMail,
): Promise<void> {
  const mailer = createMailer(smtpUrl, from, publicUrl, { error() {} });
  await mailer.sendText(mail).finally(() => mailer.close());
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

  /** @throws if the relay did not take it */
  async function sendText({ to, subject, text, language }: TextMail): Promise<void> {
    const { brand } = MESSAGES[language];
    await transport.sendMail({ to, subject: `${brand}: ${subject}`, text: `${text}\n\n${brand}\n` });
  }

  /** Sends in the background; a failure is logged, without the address and the link. */
  function sendSoon(kind: string, mail: TextMail): void {
    const sent = sendText(mail)
      .catch((error) => log.error({ kind, code: codeOf(error) }, 'a mail was not sent'))
      .finally(() => sending.delete(sent));
    sending.add(sent);
  }

  return {
    sendText,
    sendSoon,
    /** See `sendSoon`. */
    send({ kind, to, url, language }: LinkMail): void {
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
      sendSoon(kind, { to, subject, text: `${lead}\n\n${url}${end}`, language });
    },
    async close(): Promise<void> {
      await Promise.all(sending);
      transport.close();
    },
  };
}
