import { recordEvent } from '../../accounts/events.ts';
import { acceptInvitation, findInvitation } from '../auth/invitations.ts';
import { admitMail, forgetGuesses } from '../auth/limits.ts';
import { linkTokenOf } from '../auth/link-token.ts';
import { actorOf, recordSignIn } from '../auth/members.ts';
import { logSecurity } from '../auth/security-log.ts';
import { findMember } from '../auth/sessions.ts';
import { evenly } from '../auth/sign-in.ts';
import { type PageContext, type PageResponse, redirectTo } from '../request/page-context.ts';
import { emailField, faultsOf, form, formHandlers, newPassword, refusalOf, tooMany } from '../ui/forms.ts';
import { html } from '../ui/html.ts';
import { cardPage, messagePage } from '../ui/layout.ts';
import { contactLink } from '../ui/parts.ts';

/** /dashboard/forgot: answers alike whether or not there is such a user. */
export const forgot = formHandlers({
  async show(context: PageContext, refusal) {
    const { messages, tools } = context;
    const title = messages.forgotTitle;
    const after = html`<a href="${tools.base}/sign-in">${messages.signIn}</a>`;
    if (!tools.mails) {
      return cardPage(context, {
        title,
        lead: html`${messages.forgotNoMail} ${contactLink(context)}`,
        after,
      });
    }
    const fields = [emailField(messages.email)];
    const body = form(context, { fields, button: messages.sendLink, refusal });
    return cardPage(context, { title, lead: messages.forgotLead, body, after, ...refusal });
  },
  checks: ['email'],
  async submit(context) {
    const { tools, messages, client, fields } = context;
    const email = fields('email').trim();
    if (!tools.mails) return { message: messages.forgotNoMail, status: 403 };
    const refusal = tooMany(context, await admitMail(tools.sql, client, email));
    if (refusal !== null) return refusal;
    await evenly(context, tools.auth.call('/request-password-reset', { email }, client));
    return messagePage(context, 200, messages.forgotTitle, messages.linkSent);
  },
});

/** /dashboard/reset?token= */
export const reset = formHandlers({
  async show(context: PageContext, refusal) {
    const { messages } = context;
    const token = await liveToken(context, 'reset');
    if (token === null) return invalidLink(context);
    const fields = [newPassword(messages, messages.newPassword)];
    const body = form(context, { hidden: { token }, fields, button: messages.savePassword, refusal });
    return cardPage(context, { title: messages.resetTitle, body, ...refusal });
  },
  checks: ['password'],
  async submit(context) {
    const { tools, fields, client } = context;
    const token = linkTokenOf(context, 'reset');
    if (token === null) return invalidLink(context);
    const email = await tools.auth.linkOwner('reset', token);
    if (email === null) return invalidLink(context);
    const newPassword = fields('password');
    const { ok } = await tools.auth.call('/reset-password', { token, newPassword }, client);
    if (!ok) return invalidLink(context);
    await forgetGuesses(tools.sql, email);
    const member = await findMember(tools.sql, email);
    logSecurity(context, 'password reset', member);
    if (member !== null && member.accountId !== null) {
      const actor = actorOf({ id: member.userId });
      await recordEvent(tools.sql, member.accountId, { kind: 'password-changed', actor });
    }
    return redirectTo(context, '/sign-in?done=password');
  },
});

/** /dashboard/confirm?token=: the link only shows a button, because mail scanners open links too. */
export const confirm = {
  GET: async (context: PageContext) =>
    confirmPage(context, await liveToken(context, 'confirm'), context.messages.confirmLead),
  async POST(context: PageContext): Promise<PageResponse> {
    const { tools, messages, session } = context;
    const token = linkTokenOf(context, 'confirm');
    if (token === null || !(await tools.auth.confirmEmail(token))) return invalidLink(context);
    if (session !== null) return redirectTo(context, '?done=confirmed');
    return messagePage(context, 200, messages.confirmTitle, messages.done.confirmed);
  },
};

/** The page of a link that confirms an email. */
export function confirmPage(context: PageContext, token: string | null, lead: string): PageResponse {
  if (token === null) return invalidLink(context);
  const { confirmTitle: title, confirmButton: button } = context.messages;
  return cardPage(context, { title, lead, body: form(context, { hidden: { token }, button }) });
}

/** /dashboard/invitation?token=: the user exists afterwards and is signed in. For a member it is a password reset. */
export const invitation = formHandlers({
  async show(context: PageContext, refusal) {
    const { messages, tools } = context;
    const token = linkTokenOf(context, 'invitation');
    const found = token === null ? null : await findInvitation(tools.sql, token);
    if (token === null || found === null) return invalidLink(context);
    const { email, accountName, userName } = found;
    const isReset = userName !== null;
    const body = form(context, {
      hidden: { token },
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
  },
  async submit(context) {
    const { tools, fields, client } = context;
    const token = linkTokenOf(context, 'invitation');
    // Before the password is hashed, which is slow on purpose: a wrong link must not cost that time.
    const found = token === null ? null : await findInvitation(tools.sql, token);
    if (token === null || found === null) return invalidLink(context);
    const { userName } = found;
    const refusal = refusalOf(
      faultsOf(context, ...(userName === null ? (['name'] as const) : []), 'password'),
    );
    if (refusal !== null) return refusal;
    const password = fields('password');
    const passwordHash = await tools.auth.hashPassword(password);
    const email = await acceptInvitation(tools.sql, token, userName ?? fields('name').trim(), passwordHash);
    if (email === null) return invalidLink(context);
    await forgetGuesses(tools.sql, email);
    const member = await findMember(tools.sql, email);
    logSecurity(context, 'invitation accepted', member);
    // A session of someone else's in this browser is not to check the new one's.
    const answer = await tools.auth.call('/sign-in/email', { email, password }, { ...client, cookie: null });
    if (member !== null && answer.ok) await recordSignIn(tools.sql, member.userId);
    return redirectTo(context, answer.ok ? '' : '/sign-in?done=password', answer.cookies);
  },
});

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
