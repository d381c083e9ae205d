import type { PendingQuery, Row } from 'postgres';
import { codeOf } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import type { Mailer } from '../auth/mail.ts';
import type { TextMail } from '../auth/mail-text.ts';

/** A reason to send a mail that answers no request. */
export interface Due {
  /** The member that gets the mail. */
  userId: string;
  /** The subject of the mail, such as a key. A member gets one mail about a topic on each occasion. */
  topic: string;
  /** Such as a period. */
  occasion: string;
}

/** The addresses in such mails. */
interface MailAddresses {
  /** The service's own address. */
  publicUrl: string;
  buyUrl: string | null;
}

/** One kind of these mails. */
export interface MailKind<Reason extends Due> {
  /** For the log. */
  name: string;
  /** SQL for all reasons of this kind, also those that were sent already. */
  due(sql: Sql): PendingQuery<Row[]>;
  /** Reasons of a member that share a mail have the same text here. */
  sharedBy(reason: Reason): string;
  mailOf(reasons: [Reason, ...Reason[]], addresses: MailAddresses): TextMail;
}

export interface DueMailParts extends MailAddresses {
  sql: Sql;
  mailer: Pick<Mailer, 'sendText'>;
  log: Pick<Log, 'error'>;
}

/** Sends the mails of a kind that are due, each once by one of the instances. The next run tries a failed one again. */
export async function sendDueMails<Reason extends Due>(
  { sql, mailer, log, ...addresses }: DueMailParts,
  kind: MailKind<Reason>,
): Promise<void> {
  const groups = Map.groupBy(await findDue<Reason>(sql, kind.due(sql)), (reason) =>
    [reason.userId, kind.sharedBy(reason)].join(' '),
  );
  for (const group of groups.values()) {
    const [first, ...more] = await claim(sql, group);
    if (first === undefined) continue;
    await mailer.sendText(kind.mailOf([first, ...more], addresses)).catch(async (error) => {
      log.error({ kind: kind.name, code: codeOf(error) }, 'a mail was not sent');
      await withdraw(sql, [first, ...more]);
    });
  }
}

/** The reasons whose occasion is new. */
function findDue<Reason extends Due>(sql: Sql, due: PendingQuery<Row[]>): Promise<Reason[]> {
  return sql<Reason[]>`
    SELECT due.* FROM (${due}) AS due
    LEFT JOIN dashboard_sent_mails sent ON (sent.user_id, sent.topic) = (due."userId", due.topic)
    WHERE sent.occasion IS DISTINCT FROM due.occasion ORDER BY due."userId", due.topic`;
}

/**
 * Claims the reasons for one mail right before it is sent, so that an instance that ends leaves no other mail claimed.
 * @returns those that no other instance has claimed; none for a member who has left meanwhile
 */
async function claim<Reason extends Due>(sql: Sql, reasons: Reason[]): Promise<Reason[]> {
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

async function withdraw(sql: Sql, reasons: Due[]): Promise<void> {
  await sql`
    DELETE FROM dashboard_sent_mails
    WHERE user_id = ${reasons[0]!.userId} AND (topic, occasion) IN (SELECT topic, occasion FROM ${occasionsOf(sql, reasons)})`;
}

function occasionsOf(sql: Sql, reasons: Due[]) {
  const topics = reasons.map(({ topic }) => topic);
  const occasions = reasons.map(({ occasion }) => occasion);
  return sql`unnest(${topics}::text[], ${occasions}::text[]) AS reason (topic, occasion)`;
}
