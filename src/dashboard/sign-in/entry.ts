import { readPlan } from '../../metering/accounts/plan.ts';
import { suspensionOfBrowser } from '../account/suspension-text.ts';
import { newLinkToken } from '../auth/codes.ts';
import { formHandlers } from '../auth/form-page.ts';
import { signUpsOf } from '../auth/limits.ts';
import { logSecurity } from '../auth/members.ts';
import { findOwner } from '../auth/sessions.ts';
import { signInWith, withConstantTime } from '../auth/sign-in.ts';
import type { PageContext, PageResponse } from '../context.ts';
import {
  emailField,
  faultsOf,
  form,
  newPassword,
  password as passwordField,
  redirectTo,
  refuse,
  tooMany,
} from '../request/forms.ts';
import { cardPage } from '../request/layout.ts';
import { isEmail } from '../request/read-form.ts';
import { pathTo, returnPath } from '../request/return-path.ts';
import { contactLink, type HtmlValue, html } from '../ui/html.ts';
import { awaitedLink, awaitLink } from './links.ts';
import { signInCode } from './second-factor.ts';

/** /dashboard/sign-in: after a right password it asks for the code of a second factor. */
export const signIn = formHandlers({
  async show(context: PageContext, refusal) {
    const { messages, tools, sent, url, session, client } = context;
    const to = returnPath(url.searchParams.get('to') ?? sent('to'));
    if (session !== null) return redirectTo(context, to);
    const isFresh = refusal === null && !['again', 'done'].some((name) => url.searchParams.has(name));
    if (isFresh && (await tools.auth.awaitedCode(client.cookie))) return signInCode.GET(context);
    const signInForm = form(context, {
      hidden: to === '' ? {} : { to },
      fields: [emailField(messages.email), passwordField('password', messages.password)],
      button: messages.signIn,
      refusal,
    });
    return cardPage(context, {
      title: messages.signIn,
      lead: leadOf(context, to),
      body: html`${await suspensionOfBrowser(context)}${signInForm}<p class="aside"><a href="${tools.base}/forgot">${messages.forgot}</a></p>`,
      after:
        tools.config.signUp === 'open'
          ? html`${messages.noAccountYet} <a href="${tools.base}${pathTo('/sign-up', to)}">${messages.signUp}</a>`
          : html`${messages.closed} ${contactLink(context)}`,
      ...refusal,
    });
  },
  async submit(context) {
    const { sent, tools, messages } = context;
    const email = sent('email').trim();
    const password = sent('password');
    const text = tools.mailer ? messages.wrongOrUnconfirmed : messages.wrongSignIn;
    const wrong = refuse(401, { faults: { password: text } });
    if (!isEmail(email) || password === '') return wrong;
    const outcome = await signInWith(context, email, password);
    if (outcome.isRight) return redirectTo(context, returnPath(sent('to')), outcome.cookies);
    return tooMany(context, outcome.retryAfterS) ?? wrong;
  },
});

/**
 * /dashboard/sign-up: makes the user and signs them in: the next request makes their Free account. With mail it only sends a link,
 * also for an email that has an account: the answer doesn't tell. The password is chosen behind the link, so that no stranger knows that of an
 * address. `?to=` leads on to the page that was asked for, such as a consent.
 */
export const signUp = formHandlers({
  async show(context: PageContext, refusal) {
    const { messages, tools, formats, session, url } = context;
    const to = returnPath(url.searchParams.get('to'));
    if (session !== null) return redirectTo(context, to);
    const title = messages.signUp;
    const after = html`${messages.haveAccount} <a href="${tools.base}${pathTo('/sign-in', to)}">${messages.signIn}</a>`;
    if (tools.config.signUp === 'closed') {
      const lead = html`${messages.closed} ${contactLink(context)}`;
      return cardPage(context, { title, lead, after, status: 403 });
    }
    const signUpForm = form(context, {
      fields: [
        { name: 'name', label: messages.name, hint: messages.nameHint, autocomplete: 'organization' },
        emailField(messages.email),
        ...(tools.mailer ? [] : [newPassword(messages, messages.password)]),
      ],
      button: title,
      refusal,
    });
    const free = await readPlan(tools.sql, 'free');
    const { includedCredits, keyLimit } = free;
    const body = html`
<p>${messages.signUpLead(formats.number(includedCredits), formats.number(keyLimit))}</p>
${signUpForm}${conditions(context)}`;
    return cardPage(context, { title, lead: leadOf(context, to), body, after, ...refusal });
  },
  // Before the sign-up counts: a typing error must not be one of the few that an address has.
  faults: (context) =>
    faultsOf(context, context.tools.mailer ? ['name', 'email'] : ['name', 'email', 'password']),
  limit: ({ client }) => signUpsOf(client),
  async submit(context) {
    const { sent, tools, messages, client, url } = context;
    const to = returnPath(url.searchParams.get('to'));
    if (tools.config.signUp === 'closed') return refuse(403, { message: messages.closed });
    const name = sent('name').trim();
    const email = sent('email').trim();
    // With mail nobody ever knows this one.
    const password = tools.mailer ? newLinkToken() : sent('password');
    const make = async () => {
      const answer = await tools.auth.call('/sign-up/email', { name, email, password }, client);
      if (tools.mailer) await tools.auth.call('/request-password-reset', { email }, client);
      return answer;
    };
    const answer = await withConstantTime(context, make(), () => tools.mailer !== null);
    // Of two sign-ups at once, one makes the user. The other's answer must not tell that there was none.
    const isTwice = tools.mailer && answer.code === 'FAILED_TO_CREATE_USER';
    if (!answer.ok && !isTwice) {
      // Perhaps the form was sent twice, and the first answer was dropped.
      const known = tools.mailer ? null : await signInWith(context, email, password);
      if (known?.isRight === true) return redirectTo(context, to, known.cookies);
      const isTaken = answer.code?.startsWith('USER_ALREADY_EXISTS') === true;
      const signIn = html`<a href="${tools.base}${pathTo('/sign-in', to)}">${messages.signInInstead}</a>`;
      const fault = isTaken ? html`${messages.emailTaken} ${signIn}` : messages.emailInvalid;
      return refuse(422, { faults: { email: fault } });
    }
    logSecurity(context, 'sign-up', tools.mailer ? null : await findOwner(tools.sql, { email }));
    if (tools.mailer) return redirectTo(context, '/sign-up/again', [awaitLink(context, email, to)]);
    return redirectTo(context, to, answer.cookies);
  },
});

/** For whom the sign-in is, if an agent has sent its user here; otherwise what the service does. */
const leadOf = ({ messages }: PageContext, to: string): string =>
  to.startsWith('/connect') ? messages.connectSignIn : messages.aboutLead;

/** GET /dashboard/sign-up/again: the page after a sign-up with mail, alike whether or not the email has an account. */
export async function seeMail(context: PageContext): Promise<PageResponse> {
  const { messages, tools } = context;
  const { email } = awaitedLink(context);
  if (email === null || !tools.mailer) return redirectTo(context, '/sign-up');
  const again = { path: '/forgot', hidden: { email }, button: messages.confirmAgain, look: 'quiet' } as const;
  // It says no more than is sure: a full limit is silent.
  const lead = messages.seeMailLead(email);
  return cardPage(context, { title: messages.seeMail, lead, body: form(context, again) });
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
  if (session !== null)
    logSecurity(context, 'sign-out', await findOwner(tools.sql, { email: session.user.email }));
  return redirectTo(context, '/sign-in?done=out', answer.cookies);
}
