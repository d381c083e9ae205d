import type { PendingQuery, Row } from 'postgres';
import { keepsPurchased } from '../../metering/accounts/account-store.ts';
import { buyAddress } from '../../metering/accounts/buy-address.ts';
import type { BudgetPeriod } from '../../metering/keys/limits.ts';
import type { Config } from '../../platform/config/config.ts';
import { inPages } from '../../platform/postgres/batches.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import type { Mailer } from '../auth/mail.ts';
import { type Mail, nameInMail } from '../auth/mail-text.ts';
import type { DashboardParts } from '../context.ts';
import type { Messages } from '../messages.ts';
import { contactText } from '../ui/html.ts';
import type { Language } from '../ui/language.ts';
import { filled } from '../ui/states.ts';

/** A reason to send a mail that answers no request, to every member of an account. */
export interface Due {
  accountId: string;
  /** The subject of the mail, such as a key. A member gets one mail about a topic on each occasion. */
  topic: string;
  /** Such as a period. */
  occasion: string;
}

/** A reason for one member. */
type DueTo<Reason> = Reason & { userId: string; email: string; language: Language | null; account: string };

/** The addresses in such mails. */
type MailAddresses = Pick<DashboardParts, 'publicUrl'> & Pick<Config, 'buyUrl' | 'contact'>;

/** One kind of these mails, to members. */
export interface MailKind<Reason extends Due> {
  /** SQL for all reasons of this kind, also those that were sent already, of any account. */
  due(sql: Sql): PendingQuery<Row[]>;
  /** Reasons of a member that share a mail have the same text here. Without it all of them share one. */
  sharedBy?(reason: Reason): string;
  write(reasons: [Reason, ...Reason[]], addresses: MailAddresses): Mail['write'];
}

/** The mail of one kind, with the way to turn such mails off. */
export function dueMail<Reason extends Due>(
  kind: MailKind<Reason>,
  reasons: [Reason, ...Reason[]],
  addresses: MailAddresses,
): Mail {
  const write = kind.write(reasons, addresses);
  return {
    about: 'account',
    to: 'member',
    write: (messages, formats) => [
      ...write(messages, formats),
      `${messages.mailUsageOff}\n${addresses.publicUrl}/dashboard/settings`,
    ],
  };
}

export interface DueMailParts extends MailAddresses {
  sql: Sql;
  mailer: Pick<Mailer, 'send'>;
  /**
   * The reasons that the last run found, by kind. Only what two runs in a row find is sent, because credits of a request under way
   * may come back. Absent: all is sent at once.
   */
  lastRun?: Map<MailKind<never>, Set<string>>;
}

/** Reasons that are read at once, and the most of a member in one run. A member with more gets the others by the next run. */
const REASONS_AT_ONCE = 1000;

/** Sends the mails of a kind that are due, each once by one of the instances. The next run tries a failed one again. */
async function sendDueMails<Reason extends Due>(parts: DueMailParts, kind: MailKind<Reason>): Promise<void> {
  const { sql, lastRun } = parts;
  const pages = inPages<DueTo<Reason>>((last) => findDue(sql, kind, last?.userId ?? ''));
  const before = lastRun?.get(kind);
  const found = new Set<string>();
  lastRun?.set(kind, found);
  for await (const reasons of pages) {
    const idOf = ({ userId, topic, occasion }: DueTo<Reason>) => [userId, topic, occasion].join(' ');
    for (const reason of reasons) found.add(idOf(reason));
    const lasting = lastRun === undefined ? reasons : reasons.filter((reason) => before?.has(idOf(reason)));
    await sendMails(parts, kind, lasting);
  }
}

async function sendMails<Reason extends Due>(
  { sql, mailer, ...addresses }: DueMailParts,
  kind: MailKind<Reason>,
  reasons: DueTo<Reason>[],
): Promise<void> {
  const groups = Map.groupBy(reasons, (reason) => [reason.userId, kind.sharedBy?.(reason)].join(' '));
  for (const group of groups.values()) {
    const [first, ...more] = await claim(sql, group);
    if (first === undefined) continue;
    const { email: to, language, account } = first;
    const mail = dueMail(kind, [first, ...more], addresses);
    const reader = { to, language, account: { name: account, isSuspended: false } };
    if (!(await mailer.send(mail, reader))) await withdraw(sql, [first, ...more]);
  }
}

/**
 * The reasons whose occasion is new, for each member with a confirmed email who wants such mails, unless the account is suspended.
 * @returns all reasons of some members, by their ids, behind a member; of a member with very many not all
 */
async function findDue<Reason extends Due>(
  sql: Sql,
  { due }: MailKind<Reason>,
  behind: string,
): Promise<DueTo<Reason>[]> {
  const reasons = await sql<DueTo<Reason>[]>`
    SELECT due.*, m.user_id AS "userId", u."email", m.language, a.name AS account
    FROM (${due(sql)}) AS due
    JOIN accounts a ON a.id = due."accountId" AND a.deleted_at IS NULL AND a.suspended_at IS NULL
    JOIN dashboard_members m ON m.account_id = a.id AND m.usage_alerts
    JOIN dashboard_users u ON u."id" = m.user_id AND u."emailVerified"
    LEFT JOIN dashboard_sent_mails sent ON (sent.user_id, sent.topic) = (m.user_id, due.topic)
    WHERE m.user_id > ${behind} AND sent.occasion IS DISTINCT FROM due.occasion
    ORDER BY m.user_id, due.topic LIMIT ${REASONS_AT_ONCE}`;
  if (reasons.length < REASONS_AT_ONCE) return reasons;
  // The last member may have more, and comes first on the next page.
  const last = reasons.at(-1)!.userId;
  const whole = reasons.filter(({ userId }) => userId !== last);
  return whole.length === 0 ? reasons : whole;
}

/**
 * Claims the reasons for one mail right before it is sent, so that an instance that ends leaves no other mail claimed.
 * @returns those that no other instance has claimed; none for a member who has left meanwhile
 */
async function claim<Reason>(sql: Sql, reasons: DueTo<Due & Reason>[]): Promise<DueTo<Due & Reason>[]> {
  const claimed = await sql<{ topic: string }[]>`
    INSERT INTO dashboard_sent_mails AS sent (user_id, topic, occasion)
    SELECT user_id, topic, occasion
    FROM (SELECT user_id FROM dashboard_members WHERE user_id = ${reasons[0]!.userId} FOR KEY SHARE) AS member
    CROSS JOIN ${occasionsOf(sql, reasons)} ORDER BY topic
    ON CONFLICT (user_id, topic) DO UPDATE SET occasion = excluded.occasion
      WHERE sent.occasion <> excluded.occasion
    RETURNING topic`;
  const topics = new Set(claimed.map(({ topic }) => topic));
  return reasons.filter(({ topic }) => topics.has(topic));
}

async function withdraw(sql: Sql, reasons: DueTo<Due>[]): Promise<void> {
  await sql`
    DELETE FROM dashboard_sent_mails
    WHERE user_id = ${reasons[0]!.userId} AND (topic, occasion) IN (SELECT topic, occasion FROM ${occasionsOf(sql, reasons)})`;
}

function occasionsOf(sql: Sql, reasons: Due[]) {
  const topics = reasons.map(({ topic }) => topic);
  const occasions = reasons.map(({ occasion }) => occasion);
  return sql`unnest(${topics}::text[], ${occasions}::text[]) AS reason (topic, occasion)`;
}

/** A key that has a line in a mail. */
interface DueKey extends Due {
  keyId: string;
  name: string;
  start: string;
}

/** The lines of keys, with what is said of each. */
function linesOf<Key extends DueKey>(
  keys: Key[],
  { unnamed }: Messages,
  { publicUrl }: MailAddresses,
  say: (key: Key) => string,
): string {
  return keys
    .map((key) => {
      const shown = nameInMail(key.name) || unnamed;
      return `- ${shown} (${key.start}…), ${say(key)}\n  ${publicUrl}/dashboard/keys/${key.keyId}`;
    })
    .join('\n');
}

/** A key that works and has spent its budget. */
interface SpentKey extends DueKey {
  credits: number;
  per: Exclude<BudgetPeriod, 'day'>;
  /** `null` means never. */
  resets: Date | null;
}

/**
 * Mails to members when a key of their account has spent its budget of a month or for good (docs/members.md: usage alerts). A budget of a day
 * has none. The occasion is the window with the budget, so that a raised budget that is spent has another mail.
 */
export const budgetMails: MailKind<SpentKey> = {
  due: (sql) => sql`
    SELECT k.account_id AS "accountId", 'budget ' || k.id AS topic,
      extract(epoch FROM period_start) || ' ' || included_credits AS occasion, k.id AS "keyId", k.name, k.start,
      included_credits AS credits, per, budget_end(per, period_start) AS resets
    FROM counters c JOIN api_keys k USING (id)
    WHERE per <> 'day' AND included_credits > 0 AND used >= included_credits AND now() < window_end(c) AND k.ends_at > now()`,
  sharedBy: ({ per }) => per,
  write:
    (keys, addresses) =>
    (messages, { number, date }) => {
      const { per, resets } = keys[0];
      const lead = per === 'ever' ? messages.mailBudgetEver : messages.mailBudgetMonth(date(resets!));
      const spent = ({ credits }: SpentKey) => messages.mailBudgetSpent(number(credits));
      return [messages.mailBudgetSubject, lead, linesOf(keys, messages, addresses, spent)];
    },
};

/** A key that ends or has ended. */
interface EndingKey extends DueKey {
  /** The key ends within 7 days or 1 day, it has expired, or it was revoked. */
  stage: 'week' | 'day' | 'expired' | 'revoked';
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
      stage || ' ' || extract(epoch FROM k.ends_at) AS occasion, stage, k.id AS "keyId", k.name, k.start,
      k.ends_at AS "endsAt"
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
    (keys, addresses) =>
    (messages, { end, moment }) => {
      const { stage } = keys[0];
      const at = ({ endsAt }: EndingKey) => (stage === 'revoked' ? `${moment(endsAt)} UTC` : end(endsAt));
      const lines = linesOf(keys, messages, addresses, at);
      return [messages.mailKeySubject[stage], messages.mailKeyLead[stage], lines];
    },
};

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
    SELECT b.id AS "accountId", 'plan' AS topic,
      stage || ' ' || extract(epoch FROM b.plus_until) AS occasion, stage, b.plus_until AS until,
      coalesce(b.included_credits, free.included_credits) AS calls,
      coalesce(account.requests_per_minute, free.requests_per_minute) AS rate, free.api_keys AS keys
    FROM counters b
    JOIN accounts account USING (id)
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
    SELECT b.id AS "accountId", 'percent ' || threshold AS topic,
      extract(epoch FROM b.period_opened_at)::text AS occasion, b.used, included, b.period_end AS "periodEnd",
      b.credits, b.spend_purchased AS "spendPurchased"
    FROM counters b
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

/** The mails that answer no request, by the names that the table of states gives them. */
export const DUE_MAILS = new Map<string, (parts: DueMailParts) => Promise<void>>([
  ['usage', (parts) => sendDueMails(parts, usageAlerts)],
  ['budgets', (parts) => sendDueMails(parts, budgetMails)],
  ['keys', (parts) => sendDueMails(parts, keyMails)],
  ['plan', (parts) => sendDueMails(parts, planMails)],
]);

/** Sends every one of them that is due. */
export async function sendAllDueMails(parts: DueMailParts): Promise<void> {
  for (const sendDue of DUE_MAILS.values()) await sendDue(parts);
}
