import type { PendingQuery, Row } from 'postgres';
import { buyAddress } from '../../config/config.ts';
import { codeOf } from '../../errors.ts';
import type { Log } from '../../observability/log.ts';
import type { Sql } from '../../postgres/connect.ts';
import { MINUTE } from '../../units.ts';
import type { Mailer, TextMail } from '../auth/mail.ts';
import { formatsOf, type Language, preferredLanguage } from '../ui/language.ts';
import { MESSAGES } from '../ui/messages.ts';
import type { OwnAlert } from './own-alerts.ts';

type Fragment = PendingQuery<Row[]>;

/** Shares of the allowance, in percent, at which members get a mail (contract: usage alerts). */
const THRESHOLDS = [80, 100];
/** After a failed mail, this process sends no alert for this time. */
const PAUSE_MS = 5 * MINUTE;

export type UsageAlerts = ReturnType<typeof createUsageAlerts>;

/** A mail that is due and claimed, so that no other instance sends it. */
interface Alert extends Pick<OwnAlert, 'kind' | 'threshold' | 'email'> {
  /** Of a member, or of an own alert. */
  id: string;
  isOwn: boolean;
  /** The period by when it was opened, in microseconds; or all credits ever purchased. */
  sentFor: number;
  accountId: string;
  language: Language | null;
  used: number;
  included: number;
  periodEnd: Date;
  credits: number;
  spendPurchased: boolean;
}

interface AlertParts {
  sql: Sql;
  mailer: Mailer;
  dashboardUrl: string;
  buyUrl: string | null;
  log: Log;
}

/**
 * Mails members with a confirmed email when their account's allowance is nearly used, and when it is used, and the addresses of
 * an account's own alerts. Each mail is sent once a period, or once after a purchase, by one of the instances. It is claimed before it is sent; a failure withdraws the claim, for a retry later.
 */
export function createUsageAlerts(parts: AlertParts) {
  const { sql, mailer, log } = parts;
  /** The accounts to check. `null` means all, after a start or a failure, because mails may be due from before. */
  let pending: Set<string> | null = null;
  let pausedUntilMs = 0;
  let running: Promise<void> | null = null;

  async function sendDue(): Promise<void> {
    const ids = pending;
    pending = new Set();
    const among = ids === null ? sql`` : sql`AND b.account_id = ANY (${[...ids]}::text[])`;
    for (const alert of [...(await claim(sql, among)), ...(await claimOwn(sql, among))]) {
      await mailer.sendText(mailOf(alert, parts)).catch(async (error) => {
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

/** The period of an account's balance as a number that grows. */
const PERIOD = '(extract(epoch FROM b.period_opened_at) * 1000000)::bigint';

/** Claims the due mails to members in one statement, so that one of several instances gets each. @param among a condition on `b` */
function claim(sql: Sql, among: Fragment): Promise<Alert[]> {
  return sql<Alert[]>`
    WITH due AS MATERIALIZED (
      SELECT u."id" AS user_id, threshold.percent, b.period_opened_at, ${sql.unsafe(PERIOD)} AS sent_for, b.account_id, u."email", m.language, b.used,
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
    SELECT user_id AS id, false AS "isOwn", 'percent' AS kind, percent AS threshold, sent_for AS "sentFor",
      account_id AS "accountId", "email", language, used, included,
      period_end AS "periodEnd", credits, spend_purchased AS "spendPurchased"
    FROM claimed JOIN due USING (user_id, account_id, percent) ORDER BY user_id, account_id, percent`;
}

/** The same for own alerts. */
function claimOwn(sql: Sql, among: Fragment): Promise<Alert[]> {
  return sql<Alert[]>`
    UPDATE dashboard_own_alerts own SET sent_for = due.sent_for
    FROM (
      SELECT o.id, CASE o.kind WHEN 'percent' THEN ${sql.unsafe(PERIOD)} ELSE purchased END AS sent_for,
        b.used, included, b.period_end, b.credits, b.spend_purchased
      FROM dashboard_own_alerts o
      JOIN balances b ON b.account_id = o.account_id
      JOIN plans ON plans.name = b.period_plan
      JOIN accounts a ON a.id = b.account_id
      CROSS JOIN LATERAL (SELECT coalesce(b.included_credits, plans.included_credits) AS included,
        b.credits + b.used_purchased + b.purchased_before AS purchased) AS sums
      WHERE a.suspended_at IS NULL AND now() < b.period_end AND CASE o.kind
        WHEN 'percent' THEN included > 0 AND b.used * 100 >= included * o.threshold
        ELSE b.credits <= o.threshold END ${among}
    ) AS due
    WHERE own.id = due.id AND own.sent_for < due.sent_for
    RETURNING own.id, true AS "isOwn", kind, threshold, due.sent_for AS "sentFor", account_id AS "accountId", email, language,
      due.used, due.included, due.period_end AS "periodEnd", due.credits, due.spend_purchased AS "spendPurchased"`;
}

async function withdraw(sql: Sql, { id, isOwn, accountId, threshold, sentFor }: Alert): Promise<void> {
  if (isOwn) {
    await sql`UPDATE dashboard_own_alerts SET sent_for = 0 WHERE id = ${id} AND sent_for = ${sentFor}`;
  } else {
    await sql`
      DELETE FROM dashboard_usage_alerts b
      WHERE user_id = ${id} AND account_id = ${accountId} AND percent = ${threshold} AND ${sql.unsafe(PERIOD)} = ${sentFor}`;
  }
}

function mailOf(alert: Alert, { dashboardUrl, buyUrl }: AlertParts): TextMail {
  const language = alert.language ?? preferredLanguage(null);
  const { number, date } = formatsOf(language);
  const messages = MESSAGES[language];
  const buy = buyAddress(buyUrl, alert.accountId);
  const off = alert.isOwn
    ? `${messages.mailOwnAlert(alert.accountId)}\n${dashboardUrl}/alerts/${alert.id}/stop`
    : `${messages.mailUsageOff}\n${dashboardUrl}/settings`;
  const end = `${buy === null ? '' : `${messages.buyCredits}: ${buy}\n\n`}${off}`;
  const { email: to } = alert;
  if (alert.kind === 'credits') {
    const credits = number(alert.credits);
    const subject = messages.mailCreditsSubject(credits);
    return { to, subject, text: `${messages.mailCredits(credits)}\n\n${end}`, language };
  }
  const paysOn = alert.spendPurchased && alert.credits > 0;
  const next = paysOn ? messages.mailUsagePurchased(number(alert.credits)) : messages.mailUsageStops;
  const lead = messages.mailUsage(number(alert.used), number(alert.included), date(alert.periodEnd));
  return {
    to,
    subject: messages.mailUsageSubject(number(alert.threshold)),
    text: `${lead} ${next}\n\n${end}`,
    language,
  };
}
