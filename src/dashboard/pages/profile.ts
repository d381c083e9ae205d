import { isName } from '../../names.ts';
import { askEmailChange, confirmEmailChange, findEmailChange } from '../auth/email-change.ts';
import { admitMail, isFirstSending } from '../auth/limits.ts';
import { linkTokenOf } from '../auth/link-token.ts';
import type { LinkMail } from '../auth/mail.ts';
import { memberOf, renameMember } from '../auth/members.ts';
import { logSecurity } from '../auth/security-log.ts';
import { findMember } from '../auth/sessions.ts';
import { checkPassword } from '../auth/sign-in.ts';
import { TOKEN_FIELD } from '../request/csrf.ts';
import { isEmail } from '../request/form.ts';
import {
  type MemberContext,
  type PageContext,
  type PageResponse,
  redirectTo,
} from '../request/page-context.ts';
import { contactLink } from '../ui/contact.ts';
import { type Html, html } from '../ui/html.ts';
import { field, memberPage, messagePage, token } from '../ui/layout.ts';
import {
  type Faults,
  presentPassword,
  presentPasswordField,
  type Refusal,
  refusalAlert,
  stateOf,
  tooMany,
} from './entry.ts';
import { confirmPage, invalidLink } from './links.ts';

/** GET /dashboard/settings/name */
export async function askOwnName(context: MemberContext): Promise<PageResponse> {
  return namePage(context, null);
}

/** POST /dashboard/settings/name: also renames an account that has its name from the member. */
export async function changeOwnName(context: MemberContext): Promise<PageResponse> {
  const { tools, messages, fields, account, user } = context;
  const name = fields('name').trim();
  if (!isName(name)) return namePage(context, invalid(messages.nameInvalid, 'name'));
  if (name !== user.name) await renameMember(tools.sql, account.id, user, name);
  return redirectTo(context, '/settings?done=saved');
}

function namePage(context: MemberContext, refusal: Refusal | null): Promise<PageResponse> {
  const { messages, user, fields } = context;
  const value = refusal === null ? user.name : fields('name');
  return formPage(context, {
    path: '/settings/name',
    title: messages.changeName,
    refusal,
    inputs: field({
      name: 'name',
      label: messages.name,
      hint: messages.nameHint,
      value,
      autocomplete: 'organization',
      ...stateOf(refusal, 'name', 'name'),
    }),
    button: messages.saveName,
  });
}

/** GET /dashboard/settings/email */
export async function askOwnEmail(context: MemberContext): Promise<PageResponse> {
  return emailPage(context, null);
}

/**
 * POST /dashboard/settings/email: sends a link to the new address. The answer does not tell whether another user has it. The
 * present address is told: a new password ends the change.
 */
export async function changeOwnEmail(context: MemberContext): Promise<PageResponse> {
  const { tools, messages, fields, client, user, account } = context;
  if (!tools.mails) return emailPage(context, null);
  const email = fields('email').trim().toLowerCase();
  if (!isEmail(email)) return emailPage(context, invalid(messages.emailInvalid, 'email'));
  if (email === user.email) return emailPage(context, invalid(messages.emailSame, 'email'));
  const outcome = await checkPassword(context, presentPassword(context));
  if (!outcome.isRight) {
    return emailPage(context, tooMany(context, outcome) ?? invalid(messages.wrongPassword, 'present'));
  }
  const done = redirectTo(context, '/settings?done=email');
  if (!(await isFirstSending(tools.sql, fields(TOKEN_FIELD)))) return done;
  const refusal = tooMany(context, await admitMail(tools.sql, client, email, user.email));
  if (refusal !== null) return emailPage(context, refusal);
  const isTaken = (await findMember(tools.sql, email)) !== null;
  const linkToken = await askEmailChange(tools.sql, user.id, email);
  if (isTaken) send(context, 'exists', email, '/forgot');
  else send(context, 'new-email', email, `/email?token=${linkToken}`);
  if (user.emailVerified) send(context, 'change-asked', user.email, '/settings');
  logSecurity(context, 'email change asked', { userId: user.id, accountId: account.id });
  return done;
}

async function emailPage(context: MemberContext, refusal: Refusal | null): Promise<PageResponse> {
  const { messages, tools, user, fields } = context;
  const present = html`<p>${messages.presentEmail} <strong class="email">${user.email}</strong></p>`;
  if (!tools.mails) {
    const body = html`
<section class="card sheet confirm">
  <h1>${messages.changeEmail}</h1>
  ${present}
  <p>${messages.changeEmailNoMail} ${contactLink(context)}</p>
</section>`;
    return memberPage(context, { section: '/settings', title: messages.changeEmail, body });
  }
  const emailField = field({
    name: 'email',
    label: messages.newEmail,
    type: 'email',
    value: fields('email'),
    hint: messages.newEmailHint,
    autocomplete: 'email',
    maxLength: 254,
    ...stateOf(refusal, 'email', 'email'),
  });
  return formPage(context, {
    path: '/settings/email',
    title: messages.changeEmail,
    refusal,
    lead: present,
    inputs: html`${emailField}${presentPasswordField(context, stateOf(refusal, 'present', 'email'))}`,
    button: messages.sendLink,
  });
}

/** A page with one form of the settings. */
async function formPage(
  context: MemberContext,
  form: { path: string; title: string; lead?: Html; refusal: Refusal | null; inputs: Html; button: string },
): Promise<PageResponse> {
  const { messages, tools } = context;
  const { path, title, lead, refusal, inputs, button } = form;
  const body = html`
<section class="card sheet confirm">
  <h1>${title}</h1>
  ${lead}
  ${refusalAlert(refusal)}
  <form method="post" action="${tools.base}${path}">
    ${token(context)}
    ${inputs}
    <div class="actions">
      <button type="submit">${button}</button>
      <a class="button quiet" href="${tools.base}/settings">${messages.cancel}</a>
    </div>
  </form>
</section>`;
  return memberPage(context, { section: '/settings', title, body, ...refusal });
}

/** GET /dashboard/email?token=: the press is a POST, since a mail scanner opens links too. */
export async function showEmailChange(context: PageContext): Promise<PageResponse> {
  const { messages, tools } = context;
  const linkToken = linkTokenOf(context, 'email');
  const email = linkToken === null ? null : await findEmailChange(tools.sql, linkToken);
  if (linkToken === null || email === null) return invalidLink(context);
  return confirmPage(context, '/email', linkToken, messages.newEmailLead(email));
}

/** POST /dashboard/email: the new address is the user's, and the previous one is told. */
export async function takeEmailChange(context: PageContext): Promise<PageResponse> {
  const { tools, messages } = context;
  const linkToken = linkTokenOf(context, 'email');
  const change = linkToken === null ? null : await confirmEmailChange(tools.sql, linkToken);
  if (change === null) return invalidLink(context);
  logSecurity(context, 'email changed', change);
  if (change.previousIsConfirmed) {
    const member = await memberOf(tools.sql, change.userId);
    const url = tools.config.contact ?? `${tools.publicUrl}/dashboard/sign-in`;
    tools.mailer?.send({
      kind: 'changed',
      to: change.previous,
      url,
      language: member?.language ?? messages.language,
    });
  }
  if (context.session !== null) return redirectTo(context, '/settings?done=email-changed');
  return messagePage(context, 200, messages.confirmTitle, messages.emailChanged);
}

/** Sends a mail with a link below the dashboard, in the language of the page. */
function send({ tools, messages }: PageContext, kind: LinkMail['kind'], to: string, path: string): void {
  tools.mailer?.send({ kind, to, url: `${tools.publicUrl}/dashboard${path}`, language: messages.language });
}

function invalid(message: string, name: string): Refusal {
  const faults: Faults = { [name]: message };
  return { message, status: 422, faults };
}
