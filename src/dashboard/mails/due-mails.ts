import type { PendingQuery, Row } from 'postgres';
import type { Config } from '../../platform/config/config.ts';
import { inPages } from '../../platform/postgres/batches.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import type { Mailer } from '../auth/mail.ts';
import type { Mail } from '../auth/mail-text.ts';
import type { DashboardParts } from '../context.ts';
import type { Language } from '../ui/language.ts';

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
export async function sendDueMails<Reason extends Due>(
  parts: DueMailParts,
  kind: MailKind<Reason>,
): Promise<void> {
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
