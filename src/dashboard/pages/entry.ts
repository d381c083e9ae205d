import { readPlan } from '../../accounts/plan.ts';
import { isName } from '../../names.ts';
import { MINUTE, SECOND } from '../../units.ts';
import { evenly } from '../auth/evenly.ts';
import { type Admission, admitSignUp } from '../auth/limits.ts';
import { accountOf } from '../auth/members.ts';
import { passwordRefusal } from '../auth/passwords.ts';
import { logSecurity } from '../auth/security-log.ts';
import { findMember } from '../auth/sessions.ts';
import { signInWith } from '../auth/sign-in.ts';
import { isEmail, PASSWORD } from '../request/fields.ts';
import { returnPath } from '../request/return-path.ts';
import { type MemberVisit, type Reply, redirectTo, type Visit } from '../request/visit.ts';
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
export async function showSignIn(visit: Visit): Promise<Reply> {
  return visit.session === null
    ? signInPage(visit, null)
    : redirectTo(visit, returnPath(visit.url.searchParams.get('to')));
}

/** POST /dashboard/sign-in */
export async function signIn(visit: Visit): Promise<Reply> {
  const { fields, tools, texts } = visit;
  const email = fields('email').trim();
  const password = fields('password');
  const message = tools.mails ? texts.wrongOrUnconfirmed : texts.wrongSignIn;
  const wrong = { message, status: 401, faults: { password: message } };
  if (!isEmail(email) || password === '') return signInPage(visit, wrong);
  const outcome = await signInWith(visit, email, password);
  if (outcome.isRight) return redirectTo(visit, returnPath(fields('to')), outcome.cookies);
  return signInPage(visit, tooMany(visit, outcome) ?? wrong);
}

function signInPage(visit: Visit, refusal: Refusal | null): Reply {
  const { texts, tools, fields, url } = visit;
  const notices: Record<string, string> = {
    password: texts.passwordSavedSignIn,
    out: texts.signedOutNow,
    deleted: texts.accountDeleted,
  };
  const done = url.searchParams.get('done') ?? '';
  const to = returnPath(url.searchParams.get('to') ?? fields('to'));
  const body = html`
${notice(Object.hasOwn(notices, done) ? notices[done] : null)}
${refusalAlert(refusal)}
<form method="post" action="${tools.base}/sign-in">
  ${token(visit)}
  ${to !== '' && html`<input type="hidden" name="to" value="${to}">`}
  ${field({ name: 'email', label: texts.email, type: 'email', value: fields('email'), autocomplete: 'username', ...stateOf(refusal, 'email', 'email') })}
  ${field({ name: 'password', label: texts.password, type: 'password', autocomplete: 'current-password', maxLength: PASSWORD.max, ...stateOf(refusal, 'password', 'email') })}
  <button class="wide" type="submit">${texts.signIn}</button>
</form>
<p class="aside"><a href="${tools.base}/forgot">${texts.forgot}</a></p>`;
  const after =
    tools.config.signUp === 'open'
      ? html`<p class="below">${texts.noAccountYet} <a href="${tools.base}/sign-up">${texts.signUp}</a></p>`
      : html`<p class="below">${texts.closed} ${contactLink(visit)}</p>`;
  return cardPage(visit, { title: texts.signIn, lead: texts.signInLead, body, after, ...refusal });
}

/** GET /dashboard/sign-up */
export async function showSignUp(visit: Visit): Promise<Reply> {
  return visit.session === null ? signUpPage(visit, null) : redirectTo(visit, '');
}

/**
 * POST /dashboard/sign-up: makes the user and their Free account, and signs them in. With mail it only sends a link, also
 * for an email that has an account: the answer doesn't tell. The account is made at the first sign-in then.
 */
export async function signUp(visit: Visit): Promise<Reply> {
  const { fields, tools, texts, asker } = visit;
  if (tools.config.signUp === 'closed') return signUpPage(visit, { message: texts.closed, status: 403 });
  const name = fields('name').trim();
  const email = fields('email').trim();
  const password = fields('password');
  const invalid = (faults: Faults) => signUpPage(visit, refusedFields(faults));
  // Checked here first: a slip of the finger is not to count among an address's few sign-ups.
  const passwordProblem = passwordRefusal(texts, password);
  const faults = {
    ...(!isName(name) && { name: texts.nameInvalid }),
    ...(!isEmail(email) && { email: texts.emailInvalid }),
    ...(passwordProblem !== null && { password: passwordProblem }),
  };
  if (Object.keys(faults).length > 0) return invalid(faults);
  const refusal = tooMany(visit, await admitSignUp(tools.sql, asker, email, tools.mails));
  if (refusal !== null) return signUpPage(visit, refusal);
  const made = tools.auth.call('/sign-up/email', { name, email, password }, asker);
  const answer = await evenly(visit, made, () => tools.mails);
  if (!answer.ok) {
    // Perhaps the form was sent twice, and the first answer was dropped.
    const known = tools.mails ? null : await signInWith(visit, email, password);
    if (known?.isRight === true) return redirectTo(visit, '', known.cookies);
    const isTaken = answer.code?.startsWith('USER_ALREADY_EXISTS') === true;
    if (!isTaken) return invalid({ email: texts.emailInvalid });
    const signIn = html`<a href="${tools.base}/sign-in">${texts.signInInstead}</a>`;
    return invalid({ email: html`${texts.emailTaken} ${signIn}` });
  }
  if (tools.mails) {
    logSecurity(visit, 'sign-up', null);
    return messagePage(visit, 200, texts.seeMail, texts.seeMailLead);
  }
  const { session } = await tools.auth.session(cookieHeader(answer.cookies));
  if (session !== null) {
    visit.trace.account = await accountOf(tools.sql, session.user, texts.language);
    logSecurity(visit, 'sign-up', { userId: session.user.id, accountId: visit.trace.account });
  }
  return redirectTo(visit, '', answer.cookies);
}

async function signUpPage(visit: Visit, refusal: Refusal | null): Promise<Reply> {
  const { texts, tools, fields, formats } = visit;
  const after = html`<p class="below">${texts.haveAccount} <a href="${tools.base}/sign-in">${texts.signIn}</a></p>`;
  if (tools.config.signUp === 'closed') {
    return cardPage(visit, {
      title: texts.signUp,
      lead: html`${texts.closed} ${contactLink(visit)}`,
      body: null,
      after,
      status: 403,
    });
  }
  const body = html`
${refusalAlert(refusal)}
<form method="post" action="${tools.base}/sign-up">
  ${token(visit)}
  ${field({ name: 'name', label: texts.name, value: fields('name'), hint: texts.nameHint, autocomplete: 'organization', ...stateOf(refusal, 'name', 'name') })}
  ${field({ name: 'email', label: texts.email, type: 'email', value: fields('email'), autocomplete: 'username', maxLength: 254, ...stateOf(refusal, 'email', 'name') })}
  ${newPasswordField(visit, texts.password, stateOf(refusal, 'password', 'name'))}
  <button class="wide" type="submit">${texts.signUp}</button>
</form>
${conditions(visit)}`;
  const free = await readPlan(tools.sql, 'free');
  const keys = free.keyLimit === null ? null : formats.number(free.keyLimit);
  const lead = texts.signUpLead(formats.number(free.includedCredits), keys);
  return cardPage(visit, { title: texts.signUp, lead, body, after, ...refusal });
}

/** The terms and the privacy notice that an account is created under, as far as the operator has given them. */
function conditions({ texts, tools }: Visit): HtmlValue {
  const { termsUrl, privacyUrl } = tools.config;
  const terms = termsUrl !== null && html`<a href="${termsUrl}">${texts.terms}</a>`;
  const privacy = privacyUrl !== null && html`<a href="${privacyUrl}">${texts.privacy}</a>`;
  if (terms === false && privacy === false) return null;
  return html`<p class="aside hint">${texts.conditions} ${terms}${terms && privacy && ' · '}${privacy}</p>`;
}

/** POST /dashboard/sign-out */
export async function signOut(visit: Visit): Promise<Reply> {
  const { tools, asker, session } = visit;
  const answer = await tools.auth.call('/sign-out', {}, asker);
  if (session !== null) logSecurity(visit, 'sign-out', await findMember(tools.sql, session.user.email));
  return redirectTo(visit, '/sign-in?done=out', answer.cookies);
}

/** Where a password is chosen. */
export function newPasswordField(
  { texts }: Visit,
  label: string,
  state: { fault?: HtmlValue; focus?: boolean } = {},
): HtmlValue {
  return field({
    name: 'password',
    label,
    type: 'password',
    hint: texts.passwordHint(PASSWORD.min),
    autocomplete: 'new-password',
    minLength: PASSWORD.min,
    maxLength: PASSWORD.max,
    ...state,
  });
}

/** Where a member gives their password once more. The email is for password managers. */
export function presentPasswordField(
  { texts, user }: MemberVisit,
  state: { fault?: HtmlValue; focus?: boolean } = {},
): Html {
  return html`
    <input class="unseen" type="email" name="username" value="${user.email}" autocomplete="username" readonly tabindex="-1" aria-hidden="true">
    ${field({ name: 'present', label: texts.presentPassword, type: 'password', autocomplete: 'current-password', maxLength: PASSWORD.max, ...state })}`;
}

/** The password of {@link presentPasswordField}. */
export function presentPassword({ fields }: MemberVisit): string {
  return fields('present').slice(0, PASSWORD.max);
}

/** The refusal of an attempt that comes too early; null for any other. */
export function tooMany({ texts, formats }: Visit, { retryAfterS }: Admission): Refusal | null {
  if (retryAfterS === null) return null;
  const waitS = Math.max(1, Math.ceil(retryAfterS));
  const wait = formats.duration(Math.ceil((waitS * SECOND) / MINUTE) * MINUTE);
  return { message: texts.tooMany(wait), status: 429, headers: { 'Retry-After': String(waitS) } };
}

/** The `Cookie` that a browser would send back. */
function cookieHeader(setCookies: string[]): string {
  return setCookies.map((cookie) => cookie.split(';', 1)[0]).join('; ');
}
