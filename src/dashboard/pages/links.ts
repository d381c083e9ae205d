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
import { form, newPassword, type Refusal, refusalOf, tooMany } from '../ui/forms.ts';
import { html } from '../ui/html.ts';
import { cardPage, messagePage } from '../ui/layout.ts';
import { contactLink } from '../ui/parts.ts';

/** GET /dashboard/forgot */
export async function showForgot(context: PageContext, refusal?: Refusal | null): Promise<PageResponse> {
  const { messages, tools } = context;
  const title = messages.forgotTitle;
  const after = html`<a href="${tools.base}/sign-in">${messages.signIn}</a>`;
  if (!tools.mails) {
    return cardPage(context, { title, lead: html`${messages.forgotNoMail} ${contactLink(context)}`, after });
  }
  const body = form(context, {
    path: '/forgot',
    fields: [{ name: 'email', label: messages.email, type: 'email', autocomplete: 'username' }],
    button: messages.sendLink,
    refusal,
  });
  return cardPage(context, { title, lead: messages.forgotLead, body, after, ...refusal });
}

/** POST /dashboard/forgot: answers alike whether or not there is such a user. */
export async function forgot(context: PageContext): Promise<PageResponse> {
  const { tools, messages, client, fields } = context;
  const email = fields('email').trim();
  if (!tools.mails) return showForgot(context);
  const refusal =
    refusalOf({ email: !isEmail(email) && messages.emailInvalid }) ??
    tooMany(context, await admitMail(tools.sql, client, email));
  if (refusal !== null) return showForgot(context, refusal);
  await evenly(context, tools.auth.call('/request-password-reset', { email }, client));
  return messagePage(context, 200, messages.forgotTitle, messages.linkSent);
}

/** GET /dashboard/reset?token= */
export async function showReset(context: PageContext, refusal: Refusal | null = null): Promise<PageResponse> {
  const { messages } = context;
  const linkToken = await liveToken(context, 'reset');
  if (linkToken === null) return invalidLink(context);
  const body = form(context, {
    path: '/reset',
    hidden: { token: linkToken },
    fields: [newPassword(messages, messages.newPassword)],
    button: messages.savePassword,
    refusal,
  });
  return cardPage(context, { title: messages.resetTitle, body, ...refusal });
}

/** POST /dashboard/reset */
export async function reset(context: PageContext): Promise<PageResponse> {
  const { tools, messages, fields, client } = context;
  const linkToken = linkTokenOf(context, 'reset');
  if (linkToken === null) return invalidLink(context);
  const newPassword = fields('password');
  const refusal = refusalOf({ password: passwordRefusal(messages, newPassword) });
  if (refusal !== null) return showReset(context, refusal);
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

/** GET /dashboard/confirm?token=: the link only shows a button, because mail scanners open links too. */
export async function showConfirm(context: PageContext): Promise<PageResponse> {
  const linkToken = await liveToken(context, 'confirm');
  return confirmPage(context, '/confirm', linkToken, context.messages.confirmLead);
}

/** The page of a link that confirms an email. @param path where its button is sent to */
export function confirmPage(
  context: PageContext,
  path: string,
  linkToken: string | null,
  lead: string,
): PageResponse {
  if (linkToken === null) return invalidLink(context);
  const { confirmTitle: title, confirmButton: button } = context.messages;
  return cardPage(context, {
    title,
    lead,
    body: form(context, { path, hidden: { token: linkToken }, button }),
  });
}

/** POST /dashboard/confirm */
export async function confirm(context: PageContext): Promise<PageResponse> {
  const { tools, messages } = context;
  const linkToken = linkTokenOf(context, 'confirm');
  if (linkToken === null || !(await tools.auth.confirmEmail(linkToken))) return invalidLink(context);
  if (context.session !== null) return redirectTo(context, '?done=confirmed');
  return messagePage(context, 200, messages.confirmTitle, messages.done.confirmed);
}

/** GET /dashboard/invitation?token= */
export async function showInvitation(context: PageContext, refusal?: Refusal | null): Promise<PageResponse> {
  const { messages, tools } = context;
  const linkToken = linkTokenOf(context, 'invitation');
  const invitation = linkToken === null ? null : await findInvitation(tools.sql, linkToken);
  if (linkToken === null || invitation === null) return invalidLink(context);
  const { email, accountName, userName } = invitation;
  // For a member it is a password reset.
  const isReset = userName !== null;
  const body = form(context, {
    path: '/invitation',
    hidden: { token: linkToken },
    username: email,
    fields: [
      ...(isReset ? [] : [{ name: 'name', label: messages.name, autocomplete: 'name' }]),
      newPassword(messages, isReset ? messages.newPassword : messages.password),
    ],
    button: messages.invitationButton,
    refusal,
  });
  const lead = messages[isReset ? 'invitationReset' : 'invitationLead'](email, accountName);
  const title = messages[isReset ? 'resetTitle' : 'invitationTitle'];
  return cardPage(context, { title, lead, body, ...refusal });
}

/** POST /dashboard/invitation: the user exists afterwards and is signed in. */
export async function takeInvitation(context: PageContext): Promise<PageResponse> {
  const { tools, messages, fields, client } = context;
  const linkToken = linkTokenOf(context, 'invitation');
  if (linkToken === null) return invalidLink(context);
  // Before the password is hashed, which is slow on purpose: a wrong link must not cost that time.
  const invitation = await findInvitation(tools.sql, linkToken);
  if (invitation === null) return invalidLink(context);
  const name = invitation.userName ?? fields('name').trim();
  const password = fields('password');
  const refusal = refusalOf({
    name: !isName(name) && messages.nameInvalid,
    password: passwordRefusal(messages, password),
  });
  if (refusal !== null) return showInvitation(context, refusal);
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
