import { confirmEmailChange, findEmailChange } from '../account/email-change.ts';
import { acceptInvitation, type FoundInvitation, findInvitation } from '../account/invitations.ts';
import { formHandlers } from '../auth/form-page.ts';
import { forgetGuesses, mailsOf } from '../auth/limits.ts';
import { linkTokenOf } from '../auth/link-token.ts';
import { findReader, MAILS, tell } from '../auth/mail-text.ts';
import { logSecurity } from '../auth/security-log.ts';
import { confirmWithPassword, type EmailOwner, findEmailOwner } from '../auth/sessions.ts';
import { passwordChanged, signInWith, withConstantTime } from '../auth/sign-in.ts';
import type { PageContext, PageResponse } from '../context.ts';
import {
  emailField,
  faultsOf,
  form,
  newPassword,
  type Refusal,
  redirectTo,
  refusalOf,
  refuse,
} from '../request/forms.ts';
import { cardPage, messagePage } from '../request/layout.ts';
import { contactLink, contactText, type HtmlValue, html } from '../ui/html.ts';

/** /dashboard/forgot: answers alike whether or not there is such a user. */
export const forgot = formHandlers({
  async show(context: PageContext, refusal) {
    const { messages, tools } = context;
    const title = messages.forgotTitle;
    const after = html`<a href="${tools.base}/sign-in">${messages.signIn}</a>`;
    const operator = html`${messages.forgotNoMail} ${contactLink(context)}`;
    if (!tools.mails) return cardPage(context, { title, lead: operator, after, ...refusal });
    const fields = [emailField(messages.email)];
    const body = form(context, { fields, button: messages.sendLink, refusal });
    return cardPage(context, { title, lead: messages.forgotLead, body, after, ...refusal });
  },
  checks: ['email'],
  limit: ({ client }) => mailsOf(client),
  async submit(context) {
    const { tools, messages, client, sent } = context;
    const email = sent('email').trim();
    if (!tools.mails) return refuse(403, { message: messages.forgotNoMail });
    await withConstantTime(context, tools.auth.call('/request-password-reset', { email }, client));
    return redirectTo(context, '/forgot?done=sent');
  },
});

/** /dashboard/reset. A link that is used or too old is told after the form. */
export const reset = linkPage('reset', {
  find: ({ tools }, token) => tools.auth.linkOwner('reset', token),
  show(context, refusal) {
    const { messages, token } = context;
    const fields = [newPassword(messages, messages.newPassword)];
    const body = form(context, { hidden: { token }, fields, button: messages.save, refusal });
    return cardPage(context, { title: messages.resetTitle, body, ...refusal });
  },
  async submit(context) {
    const { tools, sent, client, token, found: email } = context;
    const refusal = refusalOf(faultsOf(context, ['password'], email));
    if (refusal !== null) return refusal;
    const newPassword = sent('password');
    const { ok } = await tools.auth.resetPassword(token, newPassword, client);
    if (!ok) return null;
    await forgetGuesses(tools.sql, email);
    const member = await findEmailOwner(tools.sql, email);
    if (member !== null) await passwordChanged(context, 'password reset', { ...member, email });
    return redirectTo(context, '/sign-in?done=password');
  },
});

/** /dashboard/invitation: the user exists afterwards and is signed in. For a member it is a password reset. */
export const invitation = linkPage('invitation', {
  find: ({ tools }, token) => findInvitation(tools.sql, token),
  show(context, refusal) {
    const { messages, token } = context;
    const { email, accountName, userName, isElsewhere } = context.found;
    if (isElsewhere) return elsewherePage(context);
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
    const lead = messages[isReset ? 'invitationReset' : 'invitationLead'](accountName, email);
    const title = messages[isReset ? 'resetTitle' : 'invitationTitle'];
    return cardPage(context, { title, lead, body, ...refusal });
  },
  async submit(context) {
    const { tools, sent, client, token } = context;
    const { userName, email: invited, isElsewhere } = context.found;
    if (isElsewhere) return elsewherePage(context);
    const refusal = refusalOf(
      faultsOf(context, userName === null ? ['name', 'password'] : ['password'], invited),
    );
    if (refusal !== null) return refusal;
    const password = sent('password');
    const passwordHash = await tools.auth.hashPassword(password);
    const email = await acceptInvitation(tools.sql, token, userName ?? sent('name').trim(), passwordHash);
    // Another request was faster: the page says which.
    if (email === null) return redirectTo(context, `/invitation?token=${token}`);
    await forgetGuesses(tools.sql, email);
    const member = await findEmailOwner(tools.sql, email);
    logSecurity(context, 'invitation accepted', member);
    if (userName !== null) tell(context, email, 'password-changed', '/forgot');
    // A session of someone else's in this browser is not to check the new one's.
    const outcome = await signInWith({ ...context, client: { ...client, cookie: null } }, email, password);
    return outcome.isRight
      ? redirectTo(context, '', outcome.cookies)
      : redirectTo(context, '/sign-in?done=password');
  },
});

/** The page of an invitation whose address belongs to another account. */
function elsewherePage(context: LinkContext<FoundInvitation>): PageResponse {
  const { messages, found } = context;
  const lead = messages.elsewhereLead(found.accountName, found.email);
  return messagePage(context, 409, messages.elsewhereTitle, lead);
}

/**
 * /dashboard/confirm: in the browser that signed up it signs in, too. Any other browser gives a new password, because a stranger may have
 * signed up with this address, and would have its account.
 */
export const confirm = linkPage<EmailOwner>('confirm', {
  async find({ tools }, token) {
    const email = await tools.auth.linkOwner('confirm', token);
    return email === null ? null : findEmailOwner(tools.sql, email);
  },
  show(context, refusal) {
    const { messages, token, found } = context;
    if (!wantsPassword(context)) return confirmPage(context, messages.confirmLead);
    const fields = [newPassword(messages, messages.newPassword)];
    const button = messages.confirmButton;
    const body = form(context, { hidden: { token }, username: found.email, fields, button, refusal });
    return cardPage(context, {
      title: messages.confirmTitle,
      lead: messages.confirmPasswordLead,
      body,
      ...refusal,
    });
  },
  async submit(context) {
    const { tools, client, session, sent, token, found: owner } = context;
    const { ownSignUps, confirmEmail, hashPassword } = tools.auth;
    if (wantsPassword(context)) {
      const refusal = refusalOf(faultsOf(context, ['password'], owner.email));
      if (refusal !== null) return refusal;
      await confirmWithPassword(tools.sql, owner.userId, await hashPassword(sent('password')));
      return confirmed(context, owner.email, '', '?done=confirmed');
    }
    // Without an account: neither a second factor nor a suspension is passed over.
    const signsIn = session === null && owner.accountId === null && ownSignUps.isOf(client.cookie, owner);
    const cookies = await confirmEmail(token, client, signsIn);
    if (cookies === null) return null;
    if (cookies.length === 0) return confirmed(context, owner.email, '', '?done=confirmed');
    logSecurity(context, 'sign-in', owner);
    const to = ownSignUps.toOf(client.cookie) || '?done=confirmed';
    return redirectTo(context, to, [...cookies, ownSignUps.forget()]);
  },
});

const wantsPassword = ({ tools, client, session, found: owner }: LinkContext<EmailOwner>) =>
  !owner.isConfirmed &&
  session?.user.id !== owner.userId &&
  !tools.auth.ownSignUps.isOf(client.cookie, owner);

/** /dashboard/email: the user has the new address afterwards, and the previous one gets a warning. */
export const newEmail = linkPage('email', {
  find: ({ tools }, token) => findEmailChange(tools.sql, token),
  show: (context) => confirmPage(context, context.messages.newEmailLead(context.found)),
  async submit(context) {
    const { tools, messages, token } = context;
    const change = await confirmEmailChange(tools.sql, token);
    if (change === null) return null;
    logSecurity(context, 'email changed', change);
    if (change.previousIsConfirmed) {
      const reader = await findReader(tools.sql, context.found, messages.language);
      const url = contactText(tools.config.contact) ?? `${tools.publicUrl}/dashboard/sign-in`;
      void tools.mailer?.send(MAILS['email-changed']({ url }), { ...reader, to: change.previous });
    }
    return confirmed(context, context.found, '/settings', '?done=email-changed');
  },
});

/** The page that confirms an email. Its link only shows a button, because mail scanners open links too. */
function confirmPage(context: LinkContext<unknown>, lead: string): PageResponse {
  const { confirmTitle: title, confirmButton: button } = context.messages;
  const hidden = { token: context.token };
  return cardPage(context, { title, lead, body: form(context, { hidden, button }) });
}

/** Leads to the page that says so: the overview or the settings, or without a session the sign-in with the email filled in. */
function confirmed(context: PageContext, email: string, path: '' | '/settings', query: string): PageResponse {
  const { session, tools } = context;
  if (session !== null) return redirectTo(context, path + query);
  return redirectTo(context, `/sign-in${query}`, [tools.auth.ownSignUps.cookieOf(email, null)]);
}

type LinkKind = 'reset' | 'confirm' | 'invitation' | 'email';

/** The context of a page that a link has opened. */
interface LinkContext<Found> extends PageContext {
  token: string;
  found: Found;
}

/**
 * The page of a one-time link, `?token=`. It is wrong, used or too old if `find` or `submit` gives `null`. It is found before its form
 * is sent, because hashing a password takes time that a wrong link must not cost.
 */
function linkPage<Found>(
  kind: LinkKind,
  page: {
    find(context: PageContext, token: string): Promise<Found | null>;
    show(context: LinkContext<Found>, refusal: Refusal | null): PageResponse;
    submit(context: LinkContext<Found>): Promise<PageResponse | Refusal | null>;
  },
) {
  async function open<T>(context: PageContext, next: (opened: LinkContext<Found>) => T | Promise<T>) {
    const token = linkTokenOf(context);
    const found = token && (await page.find(context, token));
    const answer = token && found ? await next({ ...context, token, found }) : null;
    return answer ?? invalidLink(context, kind);
  }
  return formHandlers({
    show: (context: PageContext, refusal) => open(context, (opened) => page.show(opened, refusal)),
    submit: (context) => open(context, page.submit),
  });
}

/** The page of a link that is wrong, used or too old, with the way to a new one. */
function invalidLink(context: PageContext, kind: LinkKind): PageResponse {
  const { messages, tools, session } = context;
  const link = (path: string) =>
    html`<p><a class="button" href="${tools.base}${path}">${messages.newLink}</a></p>`;
  const again = { path: '/sign-up/again', fields: [emailField(messages.email)], button: messages.newLink };
  const ways: Record<LinkKind, HtmlValue> = {
    reset: link('/forgot'),
    confirm: session === null ? tools.mails && form(context, again) : link('/settings'),
    email: link('/settings/email'),
    invitation: html`<p>${messages.newLinkInvitation} ${contactLink(context)}</p>`,
  };
  const page = { title: messages.linkInvalid, lead: messages.linkInvalidLead, status: 404 };
  const signIn = html`<a href="${tools.base}/sign-in">${messages.signIn}</a>`;
  return cardPage(context, { ...page, body: ways[kind], after: session === null && signIn });
}
