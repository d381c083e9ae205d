import { codeOf } from '../../errors.ts';
import type { Log } from '../../observability/log.ts';
import type { Sql } from '../../postgres/connect.ts';
import type { Mailer, TextMail } from '../auth/mail.ts';
import { formatsOf, type Language, preferredLanguage } from '../ui/language.ts';
import { MESSAGES } from '../ui/messages.ts';

/** Why a mail is sent: the key ends within 7 days or 1 day, it has expired, or it was revoked. */
type Stage = 'week' | 'day' | 'expired' | 'revoked';

/** A mail about a key that is due and claimed, so that no other instance sends it. */
interface DueMail {
  userId: string;
  email: string;
  language: Language | null;
  stage: Stage;
  keyId: string;
  name: string;
  start: string;
  endsAt: Date;
}

/**
 * Mails members with a confirmed email before a key of their account ends, and when it has ended or was revoked (contract: usage
 * alerts). The keys of one stage share a mail. It is claimed before it is sent; a failure withdraws the claim, for the next run.
 */
export async function sendKeyMails(parts: {
  sql: Sql;
  mailer: Mailer;
  publicUrl: string;
  log: Log;
}): Promise<void> {
  const { sql, mailer, publicUrl, log } = parts;
  const due = await claim(sql);
  for (const group of Map.groupBy(due, ({ userId, stage }) => `${userId} ${stage}`).values()) {
    await mailer.sendText(mailOf(group, `${publicUrl}/dashboard`)).catch(async (error) => {
      log.error({ kind: 'key', code: codeOf(error) }, 'a mail was not sent');
      const { userId } = group[0]!;
      await sql`
        DELETE FROM dashboard_key_mails
        WHERE user_id = ${userId} AND key_id = ANY (${group.map(({ keyId }) => keyId)}::text[])`;
    });
  }
}

/** Claims the due mails in one statement. A key that was created for less than the time of a stage skips it. */
function claim(sql: Sql): Promise<DueMail[]> {
  return sql<DueMail[]>`
    WITH due AS MATERIALIZED (
      SELECT m.user_id, u."email", m.language, k.id AS key_id, k.name, k.start, k.ends_at, stage
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
          OR k.created_at < k.ends_at - CASE stage WHEN 'day' THEN interval '1 day' ELSE interval '7 days' END)
    ), claimed AS (
      INSERT INTO dashboard_key_mails AS sent (user_id, key_id, stage, ends_at)
      SELECT user_id, key_id, stage, ends_at FROM due ORDER BY user_id, key_id
      ON CONFLICT (user_id, key_id) DO UPDATE SET stage = excluded.stage, ends_at = excluded.ends_at
        WHERE (sent.stage, sent.ends_at) <> (excluded.stage, excluded.ends_at)
      RETURNING user_id, key_id
    )
    SELECT user_id AS "userId", "email", language, stage, key_id AS "keyId", name, start, ends_at AS "endsAt"
    FROM claimed JOIN due USING (user_id, key_id) ORDER BY user_id, ends_at, key_id`;
}

/** @param keys of one member and one stage; @param dashboardUrl the address of the dashboard */
function mailOf(keys: DueMail[], dashboardUrl: string): TextMail {
  const { email, language: known, stage } = keys[0]!;
  const language = known ?? preferredLanguage(null);
  const messages = MESSAGES[language];
  const { instant } = formatsOf(language);
  const lines = keys.map(
    ({ name, start, endsAt, keyId }) =>
      `- ${name || messages.unnamed} (${start}…), ${instant(endsAt)}\n  ${dashboardUrl}/keys/${keyId}`,
  );
  const off = `${messages.mailUsageOff}\n${dashboardUrl}/settings`;
  return {
    to: email,
    subject: messages.mailKeySubject[stage],
    text: `${messages.mailKeyLead[stage]}\n\n${lines.join('\n')}\n\n${off}`,
    language,
  };
}
