import type { PendingQuery, Row } from 'postgres';
import { codeOf } from '../../errors.ts';
import type { Log } from '../../observability/log.ts';
import type { Sql } from '../../postgres/connect.ts';
import type { Mailer } from '../auth/mail.ts';
import type { TextMail } from '../auth/mail-text.ts';

/** A reason to send a mail that answers no request. */
export interface Due {
  accountId: string;
  /** The id of a member, or of an own alert. */
  recipient: string;
  /** What the mail is about, such as a key. A recipient gets one mail about a topic on each occasion. */
  topic: string;
}

/** The addresses in such mails. */
export interface MailAddresses {
  /** The service's own address. */
  publicUrl: string;
  buyUrl: string | null;
}

/** One kind of these mails. */
export interface MailKind<Reason extends Due> {
  /** For the log. */
  name: string;
  /** SQL for all reasons of this kind, with their `occasion`, also those that were sent already. */
  due(sql: Sql): PendingQuery<Row[]>;
  /** Reasons of a recipient that share a mail have the same text here. */
  sharedBy(reason: Reason): string;
  mailOf(reasons: [Reason, ...Reason[]], addresses: MailAddresses): TextMail;
}

export interface DueMailParts extends MailAddresses {
  sql: Sql;
  mailer: Mailer;
  log: Pick<Log, 'error'>;
}

/** Sends the mails of a kind that are due, each once by one of the instances. The next run tries a failed one again. */
export async function sendDueMails<Reason extends Due>(
  { sql, mailer, log, ...addresses }: DueMailParts,
  kind: MailKind<Reason>,
): Promise<void> {
  const groups = Map.groupBy(await claim<Reason>(sql, kind.due(sql)), (reason) =>
    [reason.accountId, reason.recipient, kind.sharedBy(reason)].join(' '),
  );
  for (const reasons of groups.values()) {
    await mailer.sendText(kind.mailOf(reasons as [Reason, ...Reason[]], addresses)).catch(async (error) => {
      log.error({ kind: kind.name, code: codeOf(error) }, 'a mail was not sent');
      await withdraw(sql, reasons);
    });
  }
}

/** Claims every reason whose occasion is new. It is one statement, so that one of several instances gets each. */
function claim<Reason extends Due>(sql: Sql, due: PendingQuery<Row[]>): Promise<Reason[]> {
  return sql<Reason[]>`
    WITH due AS MATERIALIZED (${due}), claimed AS (
      INSERT INTO dashboard_sent_mails AS sent (account_id, recipient, topic, occasion)
      SELECT "accountId", recipient, topic, occasion FROM due ORDER BY "accountId", recipient, topic
      ON CONFLICT (account_id, recipient, topic) DO UPDATE SET occasion = excluded.occasion
        WHERE sent.occasion <> excluded.occasion
      RETURNING account_id AS "accountId", recipient, topic
    )
    SELECT due.* FROM claimed JOIN due USING ("accountId", recipient, topic) ORDER BY "accountId", recipient, topic`;
}

async function withdraw(sql: Sql, reasons: Due[]): Promise<void> {
  const { accountId, recipient } = reasons[0]!;
  await sql`
    DELETE FROM dashboard_sent_mails
    WHERE account_id = ${accountId} AND recipient = ${recipient}
      AND topic = ANY (${reasons.map(({ topic }) => topic)}::text[])`;
}
