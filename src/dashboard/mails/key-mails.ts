import { nameInMail } from '../auth/mail-text.ts';
import { formatsOf, type Language, preferredLanguage } from '../ui/language.ts';
import { MESSAGES } from '../ui/messages.ts';
import type { Due, MailKind } from './due-mails.ts';

/** A key that ends or has ended, and a member with a confirmed email. The topic is the key's id. */
interface EndingKey extends Due {
  email: string;
  language: Language | null;
  /** The key ends within 7 days or 1 day, it has expired, or it was revoked. */
  stage: 'week' | 'day' | 'expired' | 'revoked';
  name: string;
  start: string;
  endsAt: Date;
}

/**
 * Mails to members before a key of their account ends, and when it has ended or was revoked (contract: usage alerts). The keys
 * of one stage share a mail. A key that was created for less than the time of a stage skips it.
 */
export const keyMails: MailKind<EndingKey> = {
  name: 'key',
  due: (sql) => sql`
    SELECT m.user_id AS "userId", k.id AS topic,
      stage || ' ' || extract(epoch FROM k.ends_at) AS occasion,
      u."email", m.language, stage, k.name, k.start, k.ends_at AS "endsAt"
    FROM api_keys k
    JOIN accounts a ON a.id = k.account_id AND a.deleted_at IS NULL
    JOIN dashboard_members m ON m.account_id = k.account_id AND m.usage_alerts
    JOIN dashboard_users u ON u."id" = m.user_id AND u."emailVerified"
    CROSS JOIN LATERAL (SELECT CASE
      WHEN k.revoked_at = k.ends_at THEN 'revoked'
      WHEN k.ends_at <= now() THEN 'expired'
      WHEN k.ends_at <= now() + interval '1 day' THEN 'day'
      ELSE 'week' END AS stage) AS s
    WHERE k.ends_at < 'infinity' AND k.ends_at BETWEEN now() - interval '1 day' AND now() + interval '7 days'
      AND (k.ends_at <= now()
        OR k.created_at < k.ends_at - CASE stage WHEN 'day' THEN interval '1 day' ELSE interval '7 days' END)`,
  sharedBy: ({ stage }) => stage,
  mailOf(keys, { publicUrl }) {
    const { email: to, language: known, stage } = keys[0];
    const language = known ?? preferredLanguage(null);
    const messages = MESSAGES[language];
    const { instant } = formatsOf(language);
    const lines = keys.map(({ name, start, endsAt, topic: keyId }) => {
      const key = `${nameInMail(name) || messages.unnamed} (${start}…), ${instant(endsAt)}`;
      return `- ${key}\n  ${publicUrl}/dashboard/keys/${keyId}`;
    });
    const off = `${messages.mailUsageOff}\n${publicUrl}/dashboard/settings`;
    const text = `${messages.mailKeyLead[stage]}\n\n${lines.join('\n')}\n\n${off}`;
    return { to, subject: messages.mailKeySubject[stage], text, language };
  },
};
