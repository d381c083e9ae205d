import { buyAddress } from '../../platform/config/config.ts';
import { formatsOf, type Language, preferredLanguage } from '../ui/language.ts';
import { MESSAGES } from '../ui/messages.ts';
import type { Due, MailKind } from './due-mails.ts';

/** Shares of the allowance, in percent, at which members get a mail (contract: usage alerts). */
const THRESHOLDS = [80, 100];

/** A member with a confirmed email, whose account has reached a threshold. */
interface Alert extends Due {
  accountId: string;
  threshold: number;
  email: string;
  language: Language | null;
  used: number;
  included: number;
  periodEnd: Date;
  /** Purchased ones that are left. */
  credits: number;
  spendPurchased: boolean;
}

/**
 * Mails to members with a confirmed email when 80% and 100% of their account's allowance are used. The occasion is a period, by
 * the time when it was opened.
 */
export const usageAlerts: MailKind<Alert> = {
  name: 'usage',
  due: (sql) => sql`
    SELECT m.user_id AS "userId", account_id AS "accountId", 'percent ' || threshold AS topic,
      extract(epoch FROM b.period_opened_at)::text AS occasion, threshold, u."email", m.language, b.used, included,
      b.period_end AS "periodEnd", b.credits, b.spend_purchased AS "spendPurchased"
    FROM balances b
    JOIN plans ON plans.name = b.period_plan
    JOIN accounts a ON a.id = b.account_id AND a.suspended_at IS NULL
    JOIN dashboard_members m USING (account_id)
    JOIN dashboard_users u ON u."id" = m.user_id AND u."emailVerified"
    CROSS JOIN LATERAL (SELECT coalesce(b.included_credits, plans.included_credits) AS included) AS allowance
    CROSS JOIN unnest(${`{${THRESHOLDS.join(',')}}`}::bigint[]) AS threshold
    WHERE m.usage_alerts AND now() < b.period_end AND included > 0 AND b.used * 100 >= included * threshold`,
  sharedBy: ({ topic }) => topic,
  mailOf([alert], { publicUrl, buyUrl }) {
    const language = alert.language ?? preferredLanguage(null);
    const { number, date } = formatsOf(language);
    const messages = MESSAGES[language];
    const paysOn = alert.spendPurchased && alert.credits > 0;
    const next = paysOn ? messages.mailUsagePurchased(number(alert.credits)) : messages.mailUsageStops;
    const lead = messages.mailUsage(number(alert.used), number(alert.included), date(alert.periodEnd));
    const buy = buyAddress(buyUrl, alert.accountId);
    const parts = [
      `${lead} ${next}`,
      buy && `${messages.buyCredits}: ${buy}`,
      `${messages.mailUsageOff}\n${publicUrl}/dashboard/settings`,
    ];
    const subject = messages.mailUsageSubject(number(alert.threshold));
    return { to: alert.email, subject, text: parts.filter(Boolean).join('\n\n'), language };
  },
};
