import { recordEvent } from '../../accounts/events.ts';
import { isName } from '../../names.ts';
import { evenly } from '../auth/evenly.ts';
import { acceptInvitation, findInvitation } from '../auth/invitations.ts';
import { admitMail, forgetGuesses } from '../auth/limits.ts';
import { linkTokenOf } from '../auth/link-token.ts';
import { actorOf, recordSignIn } from '../auth/members.ts';
import { passwordRefusal } from '../auth/passwords.ts';
import { logSecurity } from '../auth/security-log.ts';
import { findMember } from '../auth/sessions.ts';
import { isEmail } from '../request/fields.ts';
import { type Reply, redirectTo, type Visit } from '../request/visit.ts';
import { contactLink } from '../ui/contact.ts';
import { type HtmlValue, html } from '../ui/html.ts';
import { cardPage, field, messagePage, token } from '../ui/layout.ts';
import { newPasswordField, type Refusal, refusalAlert, refusedFields, stateOf, tooMany } from './entry.ts';

/** GET /dashboard/forgot */
export async function showForgot(visit: Visit): Promise<Reply> {
  return forgotPage(visit, null);
}

/** POST /dashboard/forgot: answers alike whether or not there is such a user. */
export async function forgot(visit: Visit): Promise<Reply> {
  const { tools, texts, asker, fields } = visit;
  const email = fields('email').trim();
  if (!tools.mails) return forgotPage(visit, null);
  if (!isEmail(email)) return forgotPage(visit, refusedFields({ email: texts.emailInvalid }));
  const refusal = tooMany(visit, await admitMail(tools.sql, asker, email));
  if (refusal !== null) return forgotPage(visit, refusal);
  await evenly(visit, tools.auth.call('/request-password-reset', { email }, asker));
  return messagePage(visit, 200, texts.forgotTitle, texts.linkSent);
}

function forgotPage(visit: Visit, refusal: Refusal | null): Reply {
  const { texts, tools, fields } = visit;
  const after = html`<p class="below"><a href="${tools.base}/sign-in">${texts.signIn}</a></p>`;
  if (!tools.mails)
    return cardPage(visit, {
      title: texts.forgotTitle,
      lead: html`${texts.forgotNoMail} ${contactLink(visit)}`,
      body: null,
      after,
    });
  const body = html`
${refusalAlert(refusal)}
<form method="post" action="${tools.base}/forgot">
  ${token(visit)}
  ${field({ name: 'email', label: texts.email, type: 'email', value: fields('email'), autocomplete: 'username', ...stateOf(refusal, 'email', 'email') })}
  <button class="wide" type="submit">${texts.sendLink}</button>
</form>`;
  return cardPage(visit, { title: texts.forgotTitle, lead: texts.forgotLead, body, after, ...refusal });
}

/** GET /dashboard/reset?token= */
export async function showReset(visit: Visit): Promise<Reply> {
  const linkToken = await liveToken(visit, 'reset');
  return linkToken === null ? invalidLink(visit) : resetPage(visit, linkToken, null);
}

/** POST /dashboard/reset */
export async function reset(visit: Visit): Promise<Reply> {
  const { tools, texts, fields, asker } = visit;
  const linkToken = linkTokenOf(visit, 'reset');
  if (linkToken === null) return invalidLink(visit);
  const newPassword = fields('password');
  const message = passwordRefusal(texts, newPassword);
  if (message !== null) return resetPage(visit, linkToken, refusedFields({ password: message }));
  const { ok, resetOf } = await tools.auth.call('/reset-password', { token: linkToken, newPassword }, asker);
  if (!ok || resetOf === null) return invalidLink(visit);
  await forgetGuesses(tools.sql, resetOf);
  const member = await findMember(tools.sql, resetOf);
  logSecurity(visit, 'password reset', member);
  if (member !== null && member.accountId !== null) {
    const actor = actorOf({ id: member.userId });
    await recordEvent(tools.sql, member.accountId, { kind: 'password-changed', actor });
  }
  return redirectTo(visit, '/sign-in?done=password');
}

function resetPage(visit: Visit, linkToken: string, refusal: Refusal | null): Reply {
  const { texts, tools } = visit;
  const body = html`
${refusalAlert(refusal)}
<form method="post" action="${tools.base}/reset">
  ${token(visit)}
  <input type="hidden" name="token" value="${linkToken}">
  ${newPasswordField(visit, texts.newPassword, stateOf(refusal, 'password', 'password'))}
  <button class="wide" type="submit">${texts.savePassword}</button>
</form>`;
  return cardPage(visit, { title: texts.resetTitle, body, ...refusal });
}

/** GET /dashboard/confirm?token=: the press is a POST, since a mail scanner opens links too. */
export async function showConfirm(visit: Visit): Promise<Reply> {
  const linkToken = await liveToken(visit, 'confirm');
  if (linkToken === null) return invalidLink(visit);
  return confirmPage(visit, '/confirm', linkToken, visit.texts.confirmLead);
}

/** The page of a link that confirms an email. @param path where its button is sent to */
export function confirmPage(visit: Visit, path: string, linkToken: string, lead: HtmlValue): Reply {
  const { texts, tools } = visit;
  const body = html`
<form method="post" action="${tools.base}${path}">
  ${token(visit)}
  <input type="hidden" name="token" value="${linkToken}">
  <button class="wide" type="submit">${texts.confirmButton}</button>
</form>`;
  return cardPage(visit, { title: texts.confirmTitle, lead, body });
}

/** POST /dashboard/confirm */
export async function confirm(visit: Visit): Promise<Reply> {
  const { tools, texts } = visit;
  const linkToken = linkTokenOf(visit, 'confirm');
  if (linkToken === null || !(await tools.auth.confirmEmail(linkToken))) return invalidLink(visit);
  if (visit.session !== null) return redirectTo(visit, '?done=confirmed');
  return messagePage(visit, 200, texts.confirmTitle, texts.confirmed);
}

/** GET /dashboard/invitation?token= */
export async function showInvitation(visit: Visit): Promise<Reply> {
  const linkToken = linkTokenOf(visit, 'invitation');
  return linkToken === null ? invalidLink(visit) : invitationPage(visit, linkToken, null);
}

/** POST /dashboard/invitation: the user exists afterwards and is signed in. */
export async function takeInvitation(visit: Visit): Promise<Reply> {
  const { tools, texts, fields, asker } = visit;
  const linkToken = linkTokenOf(visit, 'invitation');
  if (linkToken === null) return invalidLink(visit);
  // Asked before the password is hashed, which is slow on purpose: a wrong link is not to cost that.
  const invitation = await findInvitation(tools.sql, linkToken);
  if (invitation === null) return invalidLink(visit);
  const name = invitation.userName ?? fields('name').trim();
  const password = fields('password');
  const passwordProblem = passwordRefusal(texts, password);
  const faults = {
    ...(!isName(name) && { name: texts.nameInvalid }),
    ...(passwordProblem !== null && { password: passwordProblem }),
  };
  if (Object.keys(faults).length > 0) return invitationPage(visit, linkToken, refusedFields(faults));
  const passwordHash = await tools.auth.hashPassword(password);
  const email = await acceptInvitation(tools.sql, linkToken, name, passwordHash);
  if (email === null) return invalidLink(visit);
  await forgetGuesses(tools.sql, email);
  const member = await findMember(tools.sql, email);
  logSecurity(visit, 'invitation accepted', member);
  // A session of someone else's in this browser is not to check the new one's.
  const answer = await tools.auth.call('/sign-in/email', { email, password }, { ...asker, cookie: null });
  if (member !== null && answer.ok) await recordSignIn(tools.sql, member.userId);
  return redirectTo(visit, answer.ok ? '' : '/sign-in?done=password', answer.cookies);
}

async function invitationPage(visit: Visit, linkToken: string, refusal: Refusal | null): Promise<Reply> {
  const { texts, tools, fields } = visit;
  const invitation = await findInvitation(tools.sql, linkToken);
  if (invitation === null) return invalidLink(visit);
  // For a member it is a password reset.
  const isReset = invitation.userName !== null;
  const body = html`
${refusalAlert(refusal)}
<form method="post" action="${tools.base}/invitation">
  ${token(visit)}
  <input type="hidden" name="token" value="${linkToken}">
  <input class="unseen" type="email" name="username" value="${invitation.email}" autocomplete="username" readonly tabindex="-1" aria-hidden="true">
  ${invitation.userName === null && field({ name: 'name', label: texts.name, value: fields('name'), autocomplete: 'name', ...stateOf(refusal, 'name', 'name') })}
  ${newPasswordField(visit, isReset ? texts.newPassword : texts.password, stateOf(refusal, 'password', isReset ? 'password' : 'name'))}
  <button class="wide" type="submit">${texts.invitationButton}</button>
</form>`;
  const { email, accountName } = invitation;
  const lead = isReset ? texts.invitationReset(email, accountName) : texts.invitationLead(email, accountName);
  const title = isReset ? texts.resetTitle : texts.invitationTitle;
  return cardPage(visit, { title, lead, body, ...refusal });
}

/** The token of the link that was opened; `null` means that the link is wrong, used or too old. */
async function liveToken(visit: Visit, kind: 'reset' | 'confirm'): Promise<string | null> {
  const linkToken = linkTokenOf(visit, kind);
  return linkToken !== null && (await visit.tools.auth.isLinkAlive(kind, linkToken)) ? linkToken : null;
}

/** The page of a link that is wrong, used or too old. */
export function invalidLink(visit: Visit): Reply {
  return messagePage(visit, 404, visit.texts.linkInvalid, visit.texts.linkInvalidLead);
}
