import { buyAddress } from '../../config/config.ts';
import { formatsOf, type Language, preferredLanguage } from '../ui/language.ts';
import { MESSAGES } from '../ui/messages.ts';
import type { Due, MailAddresses, MailKind } from './due-mails.ts';
import type { OwnAlert } from './own-alerts.ts';

/** Shares of the allowance, in percent, at which members get a mail (contract: usage alerts). */
const THRESHOLDS = [80, 100];

/** An account that has reached a threshold of a member, or of an own alert. */
interface Alert extends Due, Pick<OwnAlert, 'kind' | 'threshold' | 'email'> {
  isOwn: boolean;
  language: Language | null;
  used: number;
  included: number;
  periodEnd: Date;
  /** Purchased ones that are left. */
  credits: number;
  spendPurchased: boolean;
}

/**
 * Mails to members with a confirmed email when 80% and 100% of their account's allowance are used, and mails of own alerts. The
 * occasion is a period, by the time when it was opened, or the sum of all purchased credits.
 */
export const usageAlerts: MailKind<Alert> = {
  name: 'usage',
  due: (sql) => sql`
    SELECT account_id AS "accountId", recipient, kind || ' ' || threshold AS topic,
      CASE kind WHEN 'percent' THEN extract(epoch FROM b.period_opened_at)::text ELSE purchased::text END AS occasion,
      kind, threshold, "email", "isOwn", language, b.used, included, b.period_end AS "periodEnd", b.credits,
      b.spend_purchased AS "spendPurchased"
    FROM balances b
    JOIN plans ON plans.name = b.period_plan
    JOIN accounts a ON a.id = b.account_id AND a.suspended_at IS NULL
    CROSS JOIN LATERAL (SELECT coalesce(b.included_credits, plans.included_credits) AS included,
      b.credits + b.used_purchased + b.purchased_before AS purchased) AS sums
    JOIN (
      SELECT m.account_id, m.user_id AS recipient, 'percent' AS kind, threshold, u."email", m.language, false AS "isOwn"
      FROM dashboard_members m JOIN dashboard_users u ON u."id" = m.user_id AND u."emailVerified"
      CROSS JOIN unnest(${`{${THRESHOLDS.join(',')}}`}::bigint[]) AS threshold
      WHERE m.usage_alerts
      UNION ALL
      SELECT account_id, id, kind, threshold, email, language, true FROM dashboard_own_alerts
    ) AS wanted USING (account_id)
    WHERE now() < b.period_end AND CASE kind
      WHEN 'percent' THEN included > 0 AND b.used * 100 >= included * threshold
      ELSE purchased > 0 AND b.credits <= threshold END`,
  sharedBy: ({ topic }) => topic,
  mailOf([alert], addresses) {
    const language = alert.language ?? preferredLanguage(null);
    const end = endOf(alert, language, addresses);
    const { number, date } = formatsOf(language);
    const messages = MESSAGES[language];
    const { email: to } = alert;
    if (alert.kind === 'credits') {
      const credits = number(alert.credits);
      const subject = messages.mailCreditsSubject(credits);
      return { to, subject, text: `${messages.mailCredits(credits)}\n\n${end}`, language };
    }
    const paysOn = alert.spendPurchased && alert.credits > 0;
    const next = paysOn ? messages.mailUsagePurchased(number(alert.credits)) : messages.mailUsageStops;
    const lead = messages.mailUsage(number(alert.used), number(alert.included), date(alert.periodEnd));
    const subject = messages.mailUsageSubject(number(alert.threshold));
    return { to, subject, text: `${lead} ${next}\n\n${end}`, language };
  },
};

/** The links at the end of an alert: to buy credits, and to get no more of these mails. */
function endOf(alert: Alert, language: Language, { publicUrl, buyUrl }: MailAddresses): string {
  const messages = MESSAGES[language];
  const buy = buyAddress(buyUrl, alert.accountId);
  const off = alert.isOwn
    ? `${messages.mailOwnAlert(alert.accountId)}\n${publicUrl}/dashboard/alerts/${alert.recipient}/stop`
    : `${messages.mailUsageOff}\n${publicUrl}/dashboard/settings`;
  return `${buy === null ? '' : `${messages.buyCredits}: ${buy}\n\n`}${off}`;
}
