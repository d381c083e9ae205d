import { recordEvent } from '../../accounts/events.ts';
import { isName } from '../../names.ts';
import { acceptInvitation, findInvitation } from '../auth/invitations.ts';
import { admitMail, forgetGuesses } from '../auth/limits.ts';
import { linkTokenOf } from '../auth/link-token.ts';
import { actorOf, recordSignIn } from '../auth/members.ts';
import { passwordRefusal } from '../auth/passwords.ts';
import { logSecurity } from '../auth/security-log.ts';
import { findMember } from '../auth/sessions.ts';
import { evenly } from '../auth/sign-in.ts';
import { isEmail } from '../request/form.ts';
import { type PageContext, type PageResponse, redirectTo } from '../request/page-context.ts';
import { contactLink } from '../ui/contact.ts';
import { type HtmlValue, html } from '../ui/html.ts';
import { cardPage, field, messagePage, token } from '../ui/layout.ts';
import { newPasswordField, type Refusal, refusalAlert, refusedFields, stateOf, tooMany } from './entry.ts';

/** GET /dashboard/forgot */
export async function showForgot(context: PageContext): Promise<PageResponse> {
  return forgotPage(context, null);
}

/** POST /dashboard/forgot: answers alike whether or not there is such a user. */
export async function forgot(context: PageContext): Promise<PageResponse> {
  const { tools, messages, client, fields } = context;
  const email = fields('email').trim();
  if (!tools.mails) return forgotPage(context, null);
  if (!isEmail(email)) return forgotPage(context, refusedFields({ email: messages.emailInvalid }));
  const refusal = tooMany(context, await admitMail(tools.sql, client, email));
  if (refusal !== null) return forgotPage(context, refusal);
  await evenly(context, tools.auth.call('/request-password-reset', { email }, client));
  return messagePage(context, 200, messages.forgotTitle, messages.linkSent);
}

function forgotPage(context: PageContext, refusal: Refusal | null): PageResponse {
  const { messages, tools, fields } = context;
  const after = html`<p class="below"><a href="${tools.base}/sign-in">${messages.signIn}</a></p>`;
  if (!tools.mails)
    return cardPage(context, {
      title: messages.forgotTitle,
      lead: html`${messages.forgotNoMail} ${contactLink(context)}`,
      body: null,
      after,
    });
  const body = html`
${refusalAlert(refusal)}
<form method="post" action="${tools.base}/forgot">
  ${token(context)}
  ${field({ name: 'email', label: messages.email, type: 'email', value: fields('email'), autocomplete: 'username', ...stateOf(refusal, 'email', 'email') })}
  <button class="wide" type="submit">${messages.sendLink}</button>
</form>`;
  return cardPage(context, {
    title: messages.forgotTitle,
    lead: messages.forgotLead,
    body,
    after,
    ...refusal,
  });
}

/** GET /dashboard/reset?token= */
export async function showReset(context: PageContext): Promise<PageResponse> {
  const linkToken = await liveToken(context, 'reset');
  return linkToken === null ? invalidLink(context) : resetPage(context, linkToken, null);
}

/** POST /dashboard/reset */
export async function reset(context: PageContext): Promise<PageResponse> {
  const { tools, messages, fields, client } = context;
  const linkToken = linkTokenOf(context, 'reset');
  if (linkToken === null) return invalidLink(context);
  const newPassword = fields('password');
  const message = passwordRefusal(messages, newPassword);
  if (message !== null) return resetPage(context, linkToken, refusedFields({ password: message }));
  const email = await tools.auth.linkOwner('reset', linkToken);
  if (email === null) return invalidLink(context);
  const { ok } = await tools.auth.call('/reset-password', { token: linkToken, newPassword }, client);
  if (!ok) return invalidLink(context);
  await forgetGuesses(tools.sql, email);
  const member = await findMember(tools.sql, email);
  logSecurity(context, 'password reset', member);
  if (member !== null && member.accountId !== null) {
    const actor = actorOf({ id: member.userId });
    await recordEvent(tools.sql, member.accountId, { kind: 'password-changed', actor });
  }
  return redirectTo(context, '/sign-in?done=password');
}

function resetPage(context: PageContext, linkToken: string, refusal: Refusal | null): PageResponse {
  const { messages, tools } = context;
  const body = html`
${refusalAlert(refusal)}
<form method="post" action="${tools.base}/reset">
  ${token(context)}
  <input type="hidden" name="token" value="${linkToken}">
  ${newPasswordField(context, messages.newPassword, stateOf(refusal, 'password', 'password'))}
  <button class="wide" type="submit">${messages.savePassword}</button>
</form>`;
  return cardPage(context, { title: messages.resetTitle, body, ...refusal });
}

/** GET /dashboard/confirm?token=: the press is a POST, since a mail scanner opens links too. */
export async function showConfirm(context: PageContext): Promise<PageResponse> {
  const linkToken = await liveToken(context, 'confirm');
  if (linkToken === null) return invalidLink(context);
  return confirmPage(context, '/confirm', linkToken, context.messages.confirmLead);
}

/** The page of a link that confirms an email. @param path where its button is sent to */
export function confirmPage(
  context: PageContext,
  path: string,
  linkToken: string,
  lead: HtmlValue,
): PageResponse {
  const { messages, tools } = context;
  const body = html`
<form method="post" action="${tools.base}${path}">
  ${token(context)}
  <input type="hidden" name="token" value="${linkToken}">
  <button class="wide" type="submit">${messages.confirmButton}</button>
</form>`;
  return cardPage(context, { title: messages.confirmTitle, lead, body });
}

/** POST /dashboard/confirm */
export async function confirm(context: PageContext): Promise<PageResponse> {
  const { tools, messages } = context;
  const linkToken = linkTokenOf(context, 'confirm');
  if (linkToken === null || !(await tools.auth.confirmEmail(linkToken))) return invalidLink(context);
  if (context.session !== null) return redirectTo(context, '?done=confirmed');
  return messagePage(context, 200, messages.confirmTitle, messages.confirmed);
}

/** GET /dashboard/invitation?token= */
export async function showInvitation(context: PageContext): Promise<PageResponse> {
  const linkToken = linkTokenOf(context, 'invitation');
  return linkToken === null ? invalidLink(context) : invitationPage(context, linkToken, null);
}

/** POST /dashboard/invitation: the user exists afterwards and is signed in. */
export async function takeInvitation(context: PageContext): Promise<PageResponse> {
  const { tools, messages, fields, client } = context;
  const linkToken = linkTokenOf(context, 'invitation');
  if (linkToken === null) return invalidLink(context);
  // Asked before the password is hashed, which is slow on purpose: a wrong link is not to cost that.
  const invitation = await findInvitation(tools.sql, linkToken);
  if (invitation === null) return invalidLink(context);
  const name = invitation.userName ?? fields('name').trim();
  const password = fields('password');
  const passwordProblem = passwordRefusal(messages, password);
  const faults = {
    ...(!isName(name) && { name: messages.nameInvalid }),
    ...(passwordProblem !== null && { password: passwordProblem }),
  };
  if (Object.keys(faults).length > 0) return invitationPage(context, linkToken, refusedFields(faults));
  const passwordHash = await tools.auth.hashPassword(password);
  const email = await acceptInvitation(tools.sql, linkToken, name, passwordHash);
  if (email === null) return invalidLink(context);
  await forgetGuesses(tools.sql, email);
  const member = await findMember(tools.sql, email);
  logSecurity(context, 'invitation accepted', member);
  // A session of someone else's in this browser is not to check the new one's.
  const answer = await tools.auth.call('/sign-in/email', { email, password }, { ...client, cookie: null });
  if (member !== null && answer.ok) await recordSignIn(tools.sql, member.userId);
  return redirectTo(context, answer.ok ? '' : '/sign-in?done=password', answer.cookies);
}

async function invitationPage(
  context: PageContext,
  linkToken: string,
  refusal: Refusal | null,
): Promise<PageResponse> {
  const { messages, tools, fields } = context;
  const invitation = await findInvitation(tools.sql, linkToken);
  if (invitation === null) return invalidLink(context);
  // For a member it is a password reset.
  const isReset = invitation.userName !== null;
  const body = html`
${refusalAlert(refusal)}
<form method="post" action="${tools.base}/invitation">
  ${token(context)}
  <input type="hidden" name="token" value="${linkToken}">
  <input class="unseen" type="email" name="username" value="${invitation.email}" autocomplete="username" readonly tabindex="-1" aria-hidden="true">
  ${invitation.userName === null && field({ name: 'name', label: messages.name, value: fields('name'), autocomplete: 'name', ...stateOf(refusal, 'name', 'name') })}
  ${newPasswordField(context, isReset ? messages.newPassword : messages.password, stateOf(refusal, 'password', isReset ? 'password' : 'name'))}
  <button class="wide" type="submit">${messages.invitationButton}</button>
</form>`;
  const { email, accountName } = invitation;
  const lead = isReset
    ? messages.invitationReset(email, accountName)
    : messages.invitationLead(email, accountName);
  const title = isReset ? messages.resetTitle : messages.invitationTitle;
  return cardPage(context, { title, lead, body, ...refusal });
}

/** The token of the link that was opened; `null` means that the link is wrong, used or too old. */
async function liveToken(context: PageContext, kind: 'reset' | 'confirm'): Promise<string | null> {
  const linkToken = linkTokenOf(context, kind);
  const isAlive = linkToken !== null && (await context.tools.auth.linkOwner(kind, linkToken)) !== null;
  return isAlive ? linkToken : null;
}

/** The page of a link that is wrong, used or too old. */
export function invalidLink(context: PageContext): PageResponse {
  return messagePage(context, 404, context.messages.linkInvalid, context.messages.linkInvalidLead);
}
