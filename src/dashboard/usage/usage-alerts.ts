import { codeOf } from '../../errors.ts';
import type { Log } from '../../observability/log.ts';
import type { Sql } from '../../postgres/connect.ts';
import { MINUTE } from '../../units.ts';
import type { Mailer, TextMail } from '../auth/mail.ts';
import { formatsOf, type Language, preferredLanguage } from '../ui/language.ts';
import { MESSAGES } from '../ui/messages.ts';

/** Shares of the allowance, in percent, at which members get a mail (contract: usage alerts). */
const THRESHOLDS = [80, 100];
/** After a failed mail, this process sends no alert for this time. */
const PAUSE_MS = 5 * MINUTE;

export type UsageAlerts = ReturnType<typeof createUsageAlerts>;

/** A mail that is due and claimed, so that no other instance sends it. */
interface Alert {
  userId: string;
  accountId: string;
  percent: number;
  /** As Postgres writes it, because a `Date` is less exact. */
  openedAt: string;
  email: string;
  language: Language | null;
  used: number;
  included: number;
  periodEnd: Date;
  credits: number;
  spendPurchased: boolean;
}

/**
 * Mails members with a confirmed email when their account's allowance is nearly used, and when it is used. Each mail is sent
 * once a period, by one of the instances. It is claimed before it is sent; a failure withdraws the claim, for a retry later.
 */
export function createUsageAlerts(parts: { sql: Sql; mailer: Mailer; settingsUrl: string; log: Log }) {
  const { sql, mailer, settingsUrl, log } = parts;
  /** The accounts to check. `null` means all, after a start or a failure, because mails may be due from before. */
  let pending: Set<string> | null = null;
  let pausedUntilMs = 0;
  let running: Promise<void> | null = null;

  async function sendDue(): Promise<void> {
    const ids = pending;
    pending = new Set();
    for (const alert of await claim(sql, ids && [...ids])) {
      await mailer.sendText(mailOf(alert, settingsUrl)).catch(async (error) => {
        log.error({ kind: 'usage', code: codeOf(error) }, 'a mail was not sent');
        pending = null;
        pausedUntilMs = performance.now() + PAUSE_MS;
        await withdraw(sql, alert);
      });
    }
  }

  return {
    /** Sends the mails that are due, in the background. @param accountIds with calls since the last time */
    check(accountIds: Iterable<string>): void {
      for (const id of accountIds) pending?.add(id);
      if (pending?.size === 0 || performance.now() < pausedUntilMs) return;
      running ??= sendDue()
        .catch((error) => {
          pending = null;
          log.warn({ err: error }, 'usage alerts were not sent');
        })
        .finally(() => {
          running = null;
        });
    },
    /** Waits for mails that are being sent. */
    async close(): Promise<void> {
      await running;
    },
  };
}

/** Claims the due mails in one statement, so that one of several instances gets each mail. @param ids `null` means all accounts */
function claim(sql: Sql, ids: string[] | null): Promise<Alert[]> {
  const among = ids === null ? sql`` : sql`AND b.account_id = ANY (${ids}::text[])`;
  return sql<Alert[]>`
    WITH due AS MATERIALIZED (
      SELECT u."id" AS user_id, b.account_id, threshold.percent, b.period_opened_at, u."email", m.language, b.used,
        coalesce(b.included_credits, plans.included_credits) AS included, b.period_end, b.credits, b.spend_purchased
      FROM balances b
      JOIN plans ON plans.name = b.period_plan
      JOIN accounts a ON a.id = b.account_id
      JOIN dashboard_members m ON m.account_id = b.account_id
      JOIN dashboard_users u ON u."id" = m.user_id
      CROSS JOIN unnest(${`{${THRESHOLDS.join(',')}}`}::integer[]) AS threshold (percent)
      WHERE coalesce(b.included_credits, plans.included_credits) > 0 AND now() < b.period_end AND a.suspended_at IS NULL AND m.usage_alerts AND u."emailVerified"
        AND b.used * 100 >= coalesce(b.included_credits, plans.included_credits) * threshold.percent ${among}
    ), claimed AS (
      INSERT INTO dashboard_usage_alerts AS sent (user_id, account_id, percent, period_opened_at)
      SELECT user_id, account_id, percent, period_opened_at FROM due ORDER BY user_id, account_id, percent
      ON CONFLICT (user_id, account_id, percent) DO UPDATE SET period_opened_at = excluded.period_opened_at
        WHERE sent.period_opened_at < excluded.period_opened_at
      RETURNING user_id, account_id, percent
    )
    SELECT user_id AS "userId", account_id AS "accountId", percent, period_opened_at::text AS "openedAt", "email", language, used, included,
      period_end AS "periodEnd", credits, spend_purchased AS "spendPurchased"
    FROM claimed JOIN due USING (user_id, account_id, percent) ORDER BY user_id, account_id, percent`;
}

async function withdraw(sql: Sql, { userId, accountId, percent, openedAt }: Alert): Promise<void> {
  await sql`
    DELETE FROM dashboard_usage_alerts
    WHERE user_id = ${userId} AND account_id = ${accountId} AND percent = ${percent} AND period_opened_at = ${openedAt}::text::timestamptz`;
}

function mailOf(alert: Alert, settingsUrl: string): TextMail {
  const language = alert.language ?? preferredLanguage(null);
  const { number, date } = formatsOf(language);
  const messages = MESSAGES[language];
  const paysOn = alert.spendPurchased && alert.credits > 0;
  const next = paysOn ? messages.mailUsagePurchased(number(alert.credits)) : messages.mailUsageStops;
  const lead = messages.mailUsage(number(alert.used), number(alert.included), date(alert.periodEnd));
  return {
    to: alert.email,
    subject: messages.mailUsageSubject(number(alert.percent)),
    text: `${lead} ${next}\n\n${messages.mailUsageOff}\n${settingsUrl}`,
    language,
  };
}
