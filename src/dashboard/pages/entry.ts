import { readPlan } from '../../accounts/plan.ts';
import { isName } from '../../names.ts';
import { MINUTE, SECOND } from '../../units.ts';
import { type Admission, admitSignUp } from '../auth/limits.ts';
import { accountOf } from '../auth/members.ts';
import { PASSWORD, passwordRefusal } from '../auth/passwords.ts';
import { logSecurity } from '../auth/security-log.ts';
import { findMember } from '../auth/sessions.ts';
import { evenly, signInWith } from '../auth/sign-in.ts';
import { isEmail } from '../request/form.ts';
import {
  type MemberContext,
  type PageContext,
  type PageResponse,
  redirectTo,
} from '../request/page-context.ts';
import { returnPath } from '../request/return-path.ts';
import { contactLink } from '../ui/contact.ts';
import { type Html, type HtmlValue, html } from '../ui/html.ts';
import { alert, cardPage, field, messagePage, notice, token } from '../ui/layout.ts';

/** What a refused form says, and how. */
export interface Refusal {
  message: string;
  status: number;
  headers?: Record<string, string>;
  /** What is wrong with which field, in the order of the form: shown there, and not above the form. */
  faults?: Faults;
}

/** By the name of the field. */
export type Faults = Record<string, HtmlValue>;

/** What stands above a form: a refusal that is about none of its fields. */
export function refusalAlert(refusal: Refusal | null): HtmlValue {
  return alert(refusal === null || refusal.faults !== undefined ? null : refusal.message);
}

/** The fault of a field, and whether the field has the focus: the first fault's, otherwise the form's first field. */
export function stateOf(
  refusal: Refusal | null,
  name: string,
  first: string,
): { fault: HtmlValue; focus: boolean } {
  const faults = refusal?.faults ?? {};
  return { fault: faults[name] ?? null, focus: name === (Object.keys(faults)[0] ?? first) };
}

/** A refusal because of what stands in the fields. */
export function refusedFields(faults: Faults): Refusal {
  return { message: '', status: 422, faults };
}

/** GET /dashboard/sign-in */
export async function showSignIn(context: PageContext): Promise<PageResponse> {
  return context.session === null
    ? signInPage(context, null)
    : redirectTo(context, returnPath(context.url.searchParams.get('to')));
}

/** POST /dashboard/sign-in */
export async function signIn(context: PageContext): Promise<PageResponse> {
  const { fields, tools, messages } = context;
  const email = fields('email').trim();
  const password = fields('password');
  const message = tools.mails ? messages.wrongOrUnconfirmed : messages.wrongSignIn;
  const wrong = { message, status: 401, faults: { password: message } };
  if (!isEmail(email) || password === '') return signInPage(context, wrong);
  const outcome = await signInWith(context, email, password);
  if (outcome.isRight) return redirectTo(context, returnPath(fields('to')), outcome.cookies);
  return signInPage(context, tooMany(context, outcome) ?? wrong);
}

function signInPage(context: PageContext, refusal: Refusal | null): PageResponse {
  const { messages, tools, fields, url } = context;
  const notices: Record<string, string> = {
    password: messages.passwordSavedSignIn,
    out: messages.signedOutNow,
    deleted: messages.accountDeleted,
  };
  const done = url.searchParams.get('done') ?? '';
  const to = returnPath(url.searchParams.get('to') ?? fields('to'));
  const body = html`
${notice(Object.hasOwn(notices, done) ? notices[done] : null)}
${refusalAlert(refusal)}
<form method="post" action="${tools.base}/sign-in">
  ${token(context)}
  ${to !== '' && html`<input type="hidden" name="to" value="${to}">`}
  ${field({ name: 'email', label: messages.email, type: 'email', value: fields('email'), autocomplete: 'username', ...stateOf(refusal, 'email', 'email') })}
  ${field({ name: 'password', label: messages.password, type: 'password', autocomplete: 'current-password', maxLength: PASSWORD.max, ...stateOf(refusal, 'password', 'email') })}
  <button class="wide" type="submit">${messages.signIn}</button>
</form>
<p class="aside"><a href="${tools.base}/forgot">${messages.forgot}</a></p>`;
  const after =
    tools.config.signUp === 'open'
      ? html`<p class="below">${messages.noAccountYet} <a href="${tools.base}/sign-up">${messages.signUp}</a></p>`
      : html`<p class="below">${messages.closed} ${contactLink(context)}</p>`;
  return cardPage(context, { title: messages.signIn, lead: messages.signInLead, body, after, ...refusal });
}

/** GET /dashboard/sign-up */
export async function showSignUp(context: PageContext): Promise<PageResponse> {
  return context.session === null ? signUpPage(context, null) : redirectTo(context, '');
}

/**
 * POST /dashboard/sign-up: makes the user and their Free account, and signs them in. With mail it only sends a link, also
 * for an email that has an account: the answer doesn't tell. The account is made at the first sign-in then.
 */
export async function signUp(context: PageContext): Promise<PageResponse> {
  const { fields, tools, messages, client } = context;
  if (tools.config.signUp === 'closed') return signUpPage(context, { message: messages.closed, status: 403 });
  const name = fields('name').trim();
  const email = fields('email').trim();
  const password = fields('password');
  const invalid = (faults: Faults) => signUpPage(context, refusedFields(faults));
  // Checked here first: a slip of the finger is not to count among an address's few sign-ups.
  const passwordProblem = passwordRefusal(messages, password);
  const faults = {
    ...(!isName(name) && { name: messages.nameInvalid }),
    ...(!isEmail(email) && { email: messages.emailInvalid }),
    ...(passwordProblem !== null && { password: passwordProblem }),
  };
  if (Object.keys(faults).length > 0) return invalid(faults);
  const refusal = tooMany(context, await admitSignUp(tools.sql, client, email, tools.mails));
  if (refusal !== null) return signUpPage(context, refusal);
  const made = tools.auth.call('/sign-up/email', { name, email, password }, client);
  const answer = await evenly(context, made, () => tools.mails);
  if (!answer.ok) {
    // Perhaps the form was sent twice, and the first answer was dropped.
    const known = tools.mails ? null : await signInWith(context, email, password);
    if (known?.isRight === true) return redirectTo(context, '', known.cookies);
    const isTaken = answer.code?.startsWith('USER_ALREADY_EXISTS') === true;
    if (!isTaken) return invalid({ email: messages.emailInvalid });
    const signIn = html`<a href="${tools.base}/sign-in">${messages.signInInstead}</a>`;
    return invalid({ email: html`${messages.emailTaken} ${signIn}` });
  }
  if (tools.mails) {
    logSecurity(context, 'sign-up', null);
    return messagePage(context, 200, messages.seeMail, messages.seeMailLead);
  }
  const { session } = await tools.auth.session(cookieHeader(answer.cookies));
  if (session !== null) {
    context.trace.account = await accountOf(tools.sql, session.user, messages.language);
    logSecurity(context, 'sign-up', { userId: session.user.id, accountId: context.trace.account });
  }
  return redirectTo(context, '', answer.cookies);
}

async function signUpPage(context: PageContext, refusal: Refusal | null): Promise<PageResponse> {
  const { messages, tools, fields, formats } = context;
  const after = html`<p class="below">${messages.haveAccount} <a href="${tools.base}/sign-in">${messages.signIn}</a></p>`;
  if (tools.config.signUp === 'closed') {
    return cardPage(context, {
      title: messages.signUp,
      lead: html`${messages.closed} ${contactLink(context)}`,
      body: null,
      after,
      status: 403,
    });
  }
  const body = html`
${refusalAlert(refusal)}
<form method="post" action="${tools.base}/sign-up">
  ${token(context)}
  ${field({ name: 'name', label: messages.name, value: fields('name'), hint: messages.nameHint, autocomplete: 'organization', ...stateOf(refusal, 'name', 'name') })}
  ${field({ name: 'email', label: messages.email, type: 'email', value: fields('email'), autocomplete: 'username', maxLength: 254, ...stateOf(refusal, 'email', 'name') })}
  ${newPasswordField(context, messages.password, stateOf(refusal, 'password', 'name'))}
  <button class="wide" type="submit">${messages.signUp}</button>
</form>
${conditions(context)}`;
  const free = await readPlan(tools.sql, 'free');
  const keys = free.keyLimit === null ? null : formats.number(free.keyLimit);
  const lead = messages.signUpLead(formats.number(free.includedCredits), keys);
  return cardPage(context, { title: messages.signUp, lead, body, after, ...refusal });
}

/** The terms and the privacy notice that an account is created under, as far as the operator has given them. */
function conditions({ messages, tools }: PageContext): HtmlValue {
  const { termsUrl, privacyUrl } = tools.config;
  const terms = termsUrl !== null && html`<a href="${termsUrl}">${messages.terms}</a>`;
  const privacy = privacyUrl !== null && html`<a href="${privacyUrl}">${messages.privacy}</a>`;
  if (terms === false && privacy === false) return null;
  return html`<p class="aside hint">${messages.conditions} ${terms}${terms && privacy && ' · '}${privacy}</p>`;
}

/** POST /dashboard/sign-out */
export async function signOut(context: PageContext): Promise<PageResponse> {
  const { tools, client, session } = context;
  const answer = await tools.auth.call('/sign-out', {}, client);
  if (session !== null) logSecurity(context, 'sign-out', await findMember(tools.sql, session.user.email));
  return redirectTo(context, '/sign-in?done=out', answer.cookies);
}

/** Where a password is chosen. */
export function newPasswordField(
  { messages }: PageContext,
  label: string,
  state: { fault?: HtmlValue; focus?: boolean } = {},
): HtmlValue {
  return field({
    name: 'password',
    label,
    type: 'password',
    hint: messages.passwordHint(PASSWORD.min),
    autocomplete: 'new-password',
    minLength: PASSWORD.min,
    maxLength: PASSWORD.max,
    ...state,
  });
}

/** Where a member gives their password once more. The email is for password managers. */
export function presentPasswordField(
  { messages, user }: MemberContext,
  state: { fault?: HtmlValue; focus?: boolean } = {},
): Html {
  return html`
    <input class="unseen" type="email" name="username" value="${user.email}" autocomplete="username" readonly tabindex="-1" aria-hidden="true">
    ${field({ name: 'present', label: messages.presentPassword, type: 'password', autocomplete: 'current-password', maxLength: PASSWORD.max, ...state })}`;
}

/** The password of {@link presentPasswordField}. */
export function presentPassword({ fields }: MemberContext): string {
  return fields('present').slice(0, PASSWORD.max);
}

/** The refusal of an attempt that comes too early; null for any other. */
export function tooMany({ messages, formats }: PageContext, { retryAfterS }: Admission): Refusal | null {
  if (retryAfterS === null) return null;
  const waitS = Math.max(1, Math.ceil(retryAfterS));
  const wait = formats.duration(Math.ceil((waitS * SECOND) / MINUTE) * MINUTE);
  return { message: messages.tooMany(wait), status: 429, headers: { 'Retry-After': String(waitS) } };
}

/** The `Cookie` that a browser would send back. */
function cookieHeader(setCookies: string[]): string {
  return setCookies.map((cookie) => cookie.split(';', 1)[0]).join('; ');
}
