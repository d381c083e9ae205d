import { buyAddress } from '../../metering/accounts/buy-address.ts';
import { keepsPurchased } from '../../metering/accounts/store.ts';
import type { Due, MailKind } from './due-mails.ts';

/** Shares of the allowance, in percent, at which members get a mail (docs/members.md: usage alerts). */
const THRESHOLDS = [80, 100];

/** An account that has reached a threshold. */
interface Alert extends Due {
  used: number;
  included: number;
  periodEnd: Date;
  /** Purchased ones that are left. */
  credits: number;
  spendPurchased: boolean;
}

/**
 * Mails to members when 80% and 100% of their account's allowance are used. The occasion is a period, by the time when it was
 * opened. Thresholds that are reached at once share a mail, which gives the true share.
 */
export const usageAlerts: MailKind<Alert> = {
  due: (sql) => sql`
    SELECT account_id AS "accountId", 'percent ' || threshold AS topic,
      extract(epoch FROM b.period_opened_at)::text AS occasion, b.used, included, b.period_end AS "periodEnd",
      b.credits, b.spend_purchased AS "spendPurchased"
    FROM balances b
    JOIN plans ON plans.name = b.period_plan
    CROSS JOIN LATERAL (SELECT coalesce(b.included_credits, plans.included_credits) AS included) AS allowance
    CROSS JOIN unnest(${`{${THRESHOLDS.join(',')}}`}::bigint[]) AS threshold
    WHERE now() < b.period_end AND included > 0 AND b.used * 100 >= included * threshold`,
  write:
    ([{ accountId, used, included, periodEnd, credits, spendPurchased }], { buyUrl, publicUrl }) =>
    (messages, { number, date }) => {
      const lead = messages.mailUsage(number(used), number(included), date(periodEnd));
      const canSpend = spendPurchased && credits > 0;
      const next = canSpend ? messages.mailUsagePurchased(number(credits)) : messages.mailUsageStops;
      const buy = buyAddress(buyUrl, accountId);
      return [
        messages.mailUsageSubject(number(Math.floor((used * 100) / included))),
        `${lead} ${next}`,
        keepsPurchased({ credits, spendPurchased })
          ? `${messages.spending}: ${publicUrl}/dashboard/credits/spending`
          : buy && `${messages.buyCredits}: ${buy}`,
      ];
    },
};
