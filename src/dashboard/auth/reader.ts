import type { Sql } from '../../platform/postgres/connect.ts';
import type { PageContext } from '../context.ts';
import type { Language } from '../ui/language.ts';
import { MAILS, type Reader } from './mail-text.ts';

/**
 * The reader of a mail to an email. Only a confirmed address of a member has an account: an unconfirmed one may be a stranger's.
 * @param language if that of the reader is not known
 */
export async function findReader(sql: Sql, email: string, language: Language): Promise<Reader> {
  const [member] = await sql<{ language: Language | null; name: string; isSuspended: boolean }[]>`
    SELECT m.language, a.name, a.suspended_at IS NOT NULL AS "isSuspended"
    FROM dashboard_users u JOIN dashboard_members m ON m.user_id = u."id" JOIN accounts a ON a.id = m.account_id
    WHERE u."email" = ${email.toLowerCase()} AND u."emailVerified"`;
  if (member === undefined) return { to: email, language, account: null };
  const { name, isSuspended } = member;
  return { to: email, language: member.language ?? language, account: { name, isSuspended } };
}

/** The mails that have one link and no other value. */
type LinkMail = Exclude<
  keyof typeof MAILS,
  'new-password' | 'code-lock' | 'connected' | 'suspended' | 'deleted' | 'invitation'
>;

/** Mails a user a link in the background, in the language of their latest visit. @param path below the dashboard */
export function tell({ tools, messages }: PageContext, email: string, mail: LinkMail, path: string): void {
  const url = `${tools.publicUrl}/dashboard${path}`;
  void tools.mailer?.send(MAILS[mail]({ url }), findReader(tools.sql, email, messages.language));
}
