import { recordEvent } from '../../metering/accounts/events.ts';
import { codeOf } from '../../platform/errors.ts';
import { type Sql, UNIQUE_VIOLATION } from '../../platform/postgres/connect.ts';
import { HOUR, SECOND } from '../../platform/units.ts';
import { hashOfToken, newLinkToken } from '../auth/codes.ts';
import { memberForm } from '../auth/form-page.ts';
import { changesOf, isFirstSending, limited, mailsOf, mailsTo } from '../auth/limits.ts';
import { tell } from '../auth/mail-text.ts';
import { actorOf, logOfMember } from '../auth/members.ts';
import { findOwner } from '../auth/sessions.ts';
import { TOKEN_FIELD } from '../request/csrf.ts';
import { emailField, redirectTo } from '../request/forms.ts';
import { messagePage } from '../request/layout.ts';
import { contactLink, html } from '../ui/html.ts';

/**
 * /dashboard/settings/email: sends a link to the new address. The answer does not tell whether another user has it. The
 * present address gets a warning: a new password ends the change.
 */
export const ownEmail = memberForm({
  password: true,
  page(context) {
    const { messages, tools, user } = context;
    const title = messages.changeEmail;
    const lead = html`<p>${messages.signedInAs} <strong class="email">${user.email}</strong></p>`;
    const operator = html`${messages.changeEmailNoMail} ${contactLink(context)}`;
    if (!tools.mailer) return messagePage(context, 200, title, operator);
    const fields = [{ ...emailField(messages.newEmail, 'email'), hint: messages.newEmailHint }];
    return { title, lead, fields, button: messages.sendLink, cancel: '/settings' };
  },
  checks: ['email'],
  faults: ({ sent, user, messages }) => ({
    email: sent('email').trim().toLowerCase() === user.email && messages.emailSame,
  }),
  async submit(context) {
    const { tools, messages, sent, client, account, user } = context;
    if (!tools.mailer) return messagePage(context, 403, messages.changeEmail, messages.changeEmailNoMail);
    const email = sent('email').trim().toLowerCase();
    const done = redirectTo(context, '/settings?done=email');
    if (!(await isFirstSending(tools.sql, sent(TOKEN_FIELD)))) return done;
    const mails = [mailsTo(email, `new-email ${account.id}`), ...mailsOf(client)];
    const tooEarly = await limited(context, [changesOf(user, 'email-changed'), ...mails]);
    if (tooEarly !== null) return tooEarly;
    const isTaken = (await findOwner(tools.sql, { email })) !== null;
    const token = await askEmailChange(tools.sql, user.id, email);
    if (isTaken) tell(context, email, 'exists', '/forgot');
    else tell(context, email, 'new-email', `/email?token=${token}`);
    tell(context, user.email, 'change-asked', '/settings');
    logOfMember(context, 'email change asked');
    return done;
  },
});

const LIFE_MS = 1 * HOUR;

/** Keeps a new email, in place of an earlier one, until a link confirms it or the user has a new password (0004_dashboard.sql). */
export async function askEmailChange(sql: Sql, userId: string, email: string): Promise<string> {
  const token = newLinkToken();
  await sql`
    INSERT INTO dashboard_email_changes (user_id, email, token_sha256, expires_at)
    VALUES (${userId}, ${email.toLowerCase()}, ${hashOfToken(token)}, now() + ${LIFE_MS / SECOND} * interval '1 second')
    ON CONFLICT (user_id) DO UPDATE SET
      email = excluded.email, token_sha256 = excluded.token_sha256, expires_at = excluded.expires_at`;
  return token;
}

/** The new email that a link confirms; `null` if the link is unknown, used or too old. */
export async function findEmailChange(sql: Sql, token: string): Promise<string | null> {
  const [row] = await sql<{ email: string }[]>`
    SELECT email FROM dashboard_email_changes WHERE token_sha256 = ${hashOfToken(token)} AND now() < expires_at`;
  return row?.email ?? null;
}

/**
 * Makes the new email the user's, and confirmed. Links and invitations that were sent to the previous one are dead.
 *
 * @returns the user with their previous email; `null` if the link is unknown, used or too old, or another user has the new email
 */
export async function confirmEmailChange(sql: Sql, token: string) {
  const confirm = sql.begin(async (sql) => {
    // The account's lock comes first, as in its deletion.
    const [account] = await sql<{ id: string }[]>`
      SELECT a.id FROM accounts a WHERE a.deleted_at IS NULL AND a.id = (
        SELECT m.account_id FROM dashboard_email_changes c JOIN dashboard_members m ON m.user_id = c.user_id
        WHERE c.token_sha256 = ${hashOfToken(token)})
      FOR SHARE`;
    const [change] = await sql<{ userId: string; email: string }[]>`
      DELETE FROM dashboard_email_changes WHERE token_sha256 = ${hashOfToken(token)} AND now() < expires_at
      RETURNING user_id AS "userId", email`;
    if (account === undefined || change === undefined) return null;
    const { userId, email } = change;
    const [user] = await sql<{ previous: string }[]>`
      UPDATE dashboard_users SET "email" = ${email}, "emailVerified" = true, "updatedAt" = now()
      WHERE "id" = ${userId} RETURNING old."email" AS previous`;
    const { previous } = user!;
    await sql`DELETE FROM dashboard_verifications WHERE "value" = ${userId}`;
    await sql`DELETE FROM dashboard_invitations WHERE email = ${previous} AND used_at IS NULL`;
    await recordEvent(sql, account.id, { kind: 'email-changed', actor: actorOf({ id: userId }) });
    return { userId, accountId: account.id, previous };
  });
  return confirm.catch((error) => {
    if (codeOf(error) === UNIQUE_VIOLATION) return null;
    throw error;
  });
}
