import { DAY } from '../../platform/units.ts';
import { confirmEmailChange, findEmailChange } from '../account/email-change.ts';
import { acceptInvitation, findInvitation } from '../account/invitations.ts';
import { linkTokenOf } from '../auth/codes.ts';
import { formHandlers } from '../auth/form-page.ts';
import { forgetGuesses, mailsOf } from '../auth/limits.ts';
import { findReader, MAILS, tell } from '../auth/mail-text.ts';
import { logSecurity } from '../auth/members.ts';
import { findOwner } from '../auth/sessions.ts';
import { passwordChanged, signInWith, withConstantTime } from '../auth/sign-in.ts';
import type { PageContext, PageResponse } from '../context.ts';
import { cookieScopeOf, readCookie, writeCookie } from '../request/cookies.ts';
import {
  type Checked,
  emailField,
  type Field,
  faultsOf,
  form,
  newPassword,
  type Refusal,
  redirectTo,
  refusalOf,
  refuse,
} from '../request/forms.ts';
import { cardPage, messagePage } from '../request/layout.ts';
import { isEmail } from '../request/read-form.ts';
import { returnPath } from '../request/return-path.ts';
import { contactLink, contactText, type HtmlValue, html } from '../ui/html.ts';

/** /dashboard/forgot: answers alike whether or not there is such a user. */
export const forgot = formHandlers({
  async show(context: PageContext, refusal) {
    const { messages, tools } = context;
    const title = messages.forgotTitle;
    const after = html`<a href="${tools.base}/sign-in">${messages.signIn}</a>`;
    const operator = html`${messages.forgotNoMail} ${contactLink(context)}`;
    if (!tools.mailer) return cardPage(context, { title, lead: operator, after, ...refusal });
    const fields = [emailField(messages.email)];
    const body = form(context, { fields, button: messages.sendLink, refusal });
    return cardPage(context, { title, lead: messages.forgotLead, body, after, ...refusal });
  },
  checks: ['email'],
  limit: ({ client }) => mailsOf(client),
  async submit(context) {
    const { tools, messages, client, sent } = context;
    const email = sent('email').trim();
    if (!tools.mailer) return refuse(403, { message: messages.forgotNoMail });
    await withConstantTime(context, tools.auth.call('/request-password-reset', { email }, client));
    return redirectTo(context, '/forgot?done=sent');
  },
});

/** /dashboard/reset: the link of a forgotten password, and of a sign-up, whose email it confirms, and which signs in. */
export const reset = linkPage('reset', {
  find: ({ tools }, token) => tools.auth.linkOwner(token),
  page: ({ messages, found: { email, isConfirmed } }) => ({
    title: messages[isConfirmed ? 'resetTitle' : 'invitationTitle'],
    email,
    button: messages.save,
  }),
  async submit(context) {
    const { tools, sent, client, token, found: owner } = context;
    const newPassword = sent('password');
    const answer = await tools.auth.call('/reset-password', { token, newPassword }, client);
    if (!answer.ok) return null;
    const { userId, accountId, email, isConfirmed } = owner;
    if (!isConfirmed)
      await tools.sql`UPDATE dashboard_users SET "emailVerified" = true WHERE "id" = ${userId}`;
    // The password of a sign-up is its first one, so it changes nothing.
    if (isConfirmed || accountId !== null) await passwordChanged(context, 'password reset', owner);
    const { to } = awaitedLink(context);
    if (!isConfirmed) return signInBehind(context, email, newPassword, to || '?done=confirmed');
    await forgetGuesses(tools.sql, email);
    return redirectTo(context, '/sign-in?done=password');
  },
});

/** /dashboard/invitation: the user exists afterwards and is signed in. For a member it is a password reset. */
export const invitation = linkPage('invitation', {
  find: ({ tools }, token) => findInvitation(tools.sql, token),
  page(context) {
    const { messages } = context;
    const { email, accountName, userName, isElsewhere } = context.found;
    if (isElsewhere) {
      const lead = messages.elsewhereLead(accountName, email);
      return messagePage(context, 409, messages.elsewhereTitle, lead);
    }
    const isReset = userName !== null;
    return {
      title: messages[isReset ? 'resetTitle' : 'invitationTitle'],
      lead: messages[isReset ? 'invitationReset' : 'invitationLead'](accountName, email),
      fields: isReset ? [] : [{ name: 'name', label: messages.name, autocomplete: 'name' }],
      checks: isReset ? [] : ['name'],
      email,
      button: messages.invitationButton,
    };
  },
  async submit(context) {
    const { tools, sent, token } = context;
    const { userName } = context.found;
    const password = sent('password');
    const passwordHash = await tools.auth.hashPassword(password);
    const email = await acceptInvitation(tools.sql, token, userName ?? sent('name').trim(), passwordHash);
    // Another request was faster: the page says which.
    if (email === null) return redirectTo(context, `/invitation?token=${token}`);
    logSecurity(context, 'invitation accepted', await findOwner(tools.sql, { email }));
    if (userName !== null) tell(context, email, 'password-changed', '/forgot');
    return signInBehind(context, email, password, '');
  },
});

/** Signs in with the password that was chosen behind a link. A session of someone else's in this browser is not to check it. */
async function signInBehind(context: PageContext, email: string, password: string, path: string) {
  await forgetGuesses(context.tools.sql, email);
  const visitor = { ...context, client: { ...context.client, cookie: null } };
  const outcome = await signInWith(visitor, email, password);
  return outcome.isRight
    ? redirectTo(context, path, outcome.cookies)
    : redirectTo(context, '/sign-in?done=password');
}

/** /dashboard/email: the user has the new address afterwards, and the previous one gets a warning. */
export const newEmail = linkPage('email', {
  find: ({ tools }, token) => findEmailChange(tools.sql, token),
  page: ({ messages, found }) => ({
    title: messages.confirmTitle,
    lead: messages.newEmailLead(found),
    button: messages.confirmButton,
  }),
  async submit(context) {
    const { tools, messages, token, session } = context;
    const change = await confirmEmailChange(tools.sql, token);
    if (change === null) return null;
    logSecurity(context, 'email changed', change);
    const reader = await findReader(tools.sql, context.found, messages.language);
    const url = contactText(tools.config.contact) ?? `${tools.publicUrl}/dashboard/sign-in`;
    void tools.mailer?.send(MAILS['email-changed']({ url }), { ...reader, to: change.previous });
    return redirectTo(context, `${session === null ? '/sign-in' : '/settings'}?done=email-changed`);
  },
});

type LinkKind = 'reset' | 'invitation' | 'email';

/** The context of a page that a link has opened. */
interface LinkContext<Found> extends PageContext {
  token: string;
  found: Found;
}

/** The form of a link. Opening the link does nothing, because mail scanners open links, too. */
interface LinkForm {
  title: string;
  lead?: HtmlValue;
  /** Of the user who chooses a password here. Absent: none is chosen. */
  email?: string;
  fields?: Field[];
  checks?: Checked[];
  button: string;
}

/**
 * The page of a one-time link, `?token=`. It is wrong, used or too old if `find` or `submit` gives `null`. It is found before its form
 * is sent, because hashing a password takes time that a wrong link must not cost.
 * @param link.page its form, or a page in its place
 */
function linkPage<Found>(
  kind: LinkKind,
  link: {
    find(context: PageContext, token: string): Promise<Found | null>;
    page(context: LinkContext<Found>): LinkForm | PageResponse;
    submit(context: LinkContext<Found>): Promise<PageResponse | null>;
  },
) {
  type Next<T> = (opened: LinkContext<Found>, form: LinkForm) => T | Promise<T>;
  async function open<T>(context: PageContext, next: Next<T>) {
    const token = linkTokenOf(context);
    const found = token && (await link.find(context, token));
    if (!token || !found) return invalidLink(context, kind);
    const opened = { ...context, token, found };
    const page = link.page(opened);
    return 'title' in page ? ((await next(opened, page)) ?? invalidLink(context, kind)) : page;
  }
  return formHandlers({
    show: (context: PageContext, refusal) =>
      open(context, ({ messages, token }, { title, lead, email, fields = [], button }) => {
        const password = email === undefined ? [] : [newPassword(messages, messages.newPassword)];
        const options = { hidden: { token }, ...(email && { username: email }), button, refusal };
        const body = form(context, { ...options, fields: [...fields, ...password] });
        return cardPage(context, { title, lead, body, ...refusal });
      }),
    submit: (context) =>
      open<PageResponse | Refusal | null>(context, (opened, { email, checks = [] }) => {
        const all: Checked[] = email === undefined ? checks : [...checks, 'password'];
        return refusalOf(faultsOf(context, all, email)) ?? link.submit(opened);
      }),
  });
}

/** The page of a link that is wrong, used or too old, with the way to a new one. */
function invalidLink(context: PageContext, kind: LinkKind): PageResponse {
  const { messages, tools, session } = context;
  const link = (path: string) =>
    html`<p><a class="button" href="${tools.base}${path}">${messages.newLink}</a></p>`;
  const ways: Record<LinkKind, HtmlValue> = {
    reset: link('/forgot'),
    email: link('/settings/email'),
    invitation: html`<p>${messages.newLinkInvitation} ${contactLink(context)}</p>`,
  };
  const page = { title: messages.linkInvalid, lead: messages.linkInvalidLead, status: 404 };
  const signIn = html`<a href="${tools.base}/sign-in">${messages.signIn}</a>`;
  return cardPage(context, { ...page, body: ways[kind], after: session === null && signIn });
}

const AWAITED_COOKIE = 'dashboard.sign_up';
/** Longer than the hour of a link, because a link can be sent again. */
const AWAITED_MS = 1 * DAY;

/**
 * The cookie of a browser that has signed up, for the pages until the link is opened: the email, and the page that was asked for before the
 * sign-up. It proves nothing.
 */
export function awaitLink({ tools }: PageContext, email: string, to: string): string {
  const value = [email, to].map((text) => Buffer.from(text).toString('base64url')).join('.');
  return writeCookie(AWAITED_COOKIE, value, cookieScopeOf(tools), AWAITED_MS);
}

/** Reads the cookie of {@link awaitLink}. An `email` of `null` means that there is none, and a `to` of '' means the overview. */
export function awaitedLink({ request }: PageContext): { email: string | null; to: string } {
  const parts = readCookie(request.headers.get('cookie'), AWAITED_COOKIE).split('.');
  const [email = '', to = ''] = parts.map((part) => Buffer.from(part, 'base64url').toString());
  return { email: isEmail(email) ? email : null, to: returnPath(to) };
}
