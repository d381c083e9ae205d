import { nameInMail } from '../auth/mail-text.ts';
import type { Due, MailKind } from './due-mails.ts';

/** A key that ends or has ended. The topic is the key's id. */
interface EndingKey extends Due {
  /** The key ends within 7 days or 1 day, it has expired, or it was revoked. */
  stage: 'week' | 'day' | 'expired' | 'revoked';
  name: string;
  start: string;
  endsAt: Date;
}

/**
 * Mails to members before a key of their account ends, and when it has ended or was revoked (docs/members.md: usage alerts). The keys
 * of one stage share a mail. A key that was created for less than the time of a stage skips it. The end of a connection moves with its use, so
 * only its revocation has a mail: a token that was used twice has ended it, too (src/metering/connections/tokens.ts).
 */
export const keyMails: MailKind<EndingKey> = {
  due: (sql) => sql`
    SELECT k.account_id AS "accountId", k.id AS topic,
      stage || ' ' || extract(epoch FROM k.ends_at) AS occasion, stage, k.name, k.start, k.ends_at AS "endsAt"
    FROM api_keys k
    CROSS JOIN LATERAL (SELECT CASE
      WHEN k.revoked_at = k.ends_at THEN 'revoked'
      WHEN k.ends_at <= now() THEN 'expired'
      WHEN k.ends_at <= now() + interval '1 day' THEN 'day'
      ELSE 'week' END AS stage) AS s
    WHERE (NOT k.is_connection OR stage = 'revoked') AND k.ends_at < 'infinity' AND k.ends_at BETWEEN now() - interval '1 day' AND now() + interval '7 days'
      AND (k.ends_at <= now()
        OR k.created_at < k.ends_at - CASE stage WHEN 'day' THEN interval '1 day' ELSE interval '7 days' END)`,
  sharedBy: ({ stage }) => stage,
  write:
    (keys, { publicUrl }) =>
    (messages, { end, moment }) => {
      const { stage } = keys[0];
      const lines = keys.map(({ topic, name, start, endsAt }) => {
        const at = stage === 'revoked' ? `${moment(endsAt)} UTC` : end(endsAt);
        const shown = nameInMail(name) || messages.unnamed;
        return `- ${shown} (${start}…), ${at}\n  ${publicUrl}/dashboard/keys/${topic}`;
      });
      return [messages.mailKeySubject[stage], messages.mailKeyLead[stage], lines.join('\n')];
    },
};
