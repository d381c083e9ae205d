import { contactText } from '../ui/parts.ts';
import { filled } from '../ui/state-text.ts';
import type { Due, MailKind } from './due-mails.ts';

/** A Plus subscription that ends or has ended, and the limits of the Free plan. */
interface EndingPlan extends Due {
  /** It ends within 7 days, or has ended. */
  stage: 'week' | 'ended';
  until: Date;
  calls: number;
  rate: number;
  keys: number;
}

/**
 * Mails to members 7 days before the plan of their account ends, and when it has ended (docs/members.md: usage alerts). A subscription
 * that was made for less than 7 days has the second one only.
 */
export const planMails: MailKind<EndingPlan> = {
  due: (sql) => sql`
    SELECT b.account_id AS "accountId", 'plan' AS topic,
      stage || ' ' || extract(epoch FROM b.plus_until) AS occasion, stage, b.plus_until AS until,
      coalesce(b.included_credits, free.included_credits) AS calls,
      coalesce(account.requests_per_minute, free.requests_per_minute) AS rate, free.api_keys AS keys
    FROM balances b
    JOIN accounts account ON account.id = b.account_id
    JOIN plans free ON free.name = 'free'
    CROSS JOIN LATERAL (SELECT CASE WHEN b.plus_until <= now() THEN 'ended' ELSE 'week' END AS stage) AS s
    WHERE b.plan = 'plus' AND b.plus_until BETWEEN now() - interval '1 day' AND now() + interval '7 days'
      AND (stage = 'ended' OR coalesce(b.plan_since, account.created_at) < b.plus_until - interval '7 days')`,
  write:
    ([{ stage, until, calls, rate, keys }], { contact }) =>
    (messages, { number, end }) => {
      const day = end(until);
      return [
        messages.mailPlanSubject[stage],
        stage === 'week'
          ? filled(messages.states.lapsesSoon, [day], [], [number(calls), number(keys)])
          : filled(messages.states.lapsed, [day], [], [number(calls), number(rate), number(keys)]),
        [messages.mailPlanRenew, contactText(contact)].filter(Boolean).join(' '),
      ];
    },
};
