import type { BudgetPeriod } from '../../metering/keys/limits.ts';
import { nameInMail } from '../auth/mail-text.ts';
import type { Due, MailKind } from './due-mails.ts';

/** A key that works and has spent its budget. The topic has the key's id. */
interface SpentKey extends Due {
  keyId: string;
  name: string;
  start: string;
  credits: number;
  per: Exclude<BudgetPeriod, 'day'>;
  /** `null` means never. */
  resets: Date | null;
}

/**
 * Mails to members when a key of their account has spent its budget of a month or for good (docs/members.md: usage alerts). A
 * budget of a day
 * has none. The occasion is the window with the budget, so that a raised budget that is spent has another mail.
 */
export const budgetMails: MailKind<SpentKey> = {
  due: (sql) => sql`
    SELECT k.account_id AS "accountId", 'budget ' || k.id AS topic,
      extract(epoch FROM window_start) || ' ' || credits AS occasion, k.id AS "keyId", k.name, k.start, credits, per,
      budget_end(per, window_start) AS resets
    FROM key_budgets JOIN api_keys k ON k.id = key_id
    WHERE per <> 'day' AND credits > 0 AND used >= credits AND window_start >= budget_window(per, now()) AND k.ends_at > now()`,
  sharedBy: ({ per }) => per,
  write:
    (keys, { publicUrl }) =>
    (messages, { number, date }) => {
      const { per, resets } = keys[0];
      const lines = keys.map(({ keyId, name, start, credits }) => {
        const shown = nameInMail(name) || messages.unnamed;
        return `- ${shown} (${start}…), ${messages.mailBudgetSpent(number(credits))}\n  ${publicUrl}/dashboard/keys/${keyId}`;
      });
      const lead = per === 'ever' ? messages.mailBudgetEver : messages.mailBudgetMonth(date(resets!));
      return [messages.mailBudgetSubject, lead, lines.join('\n')];
    },
};
