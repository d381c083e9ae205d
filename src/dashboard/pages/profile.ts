import { isName } from '../../names.ts';
import { askEmailChange, confirmEmailChange, findEmailChange } from '../auth/email-change.ts';
import { admitMail } from '../auth/limits.ts';
import { linkTokenOf } from '../auth/link-token.ts';
import type { LinkMail } from '../auth/mail.ts';
import { memberOf, renameMember } from '../auth/members.ts';
import { logSecurity } from '../auth/security-log.ts';
import { findMember } from '../auth/sessions.ts';
import { checkPassword } from '../auth/sign-in.ts';
import { TOKEN_FIELD } from '../request/csrf.ts';
import { isEmail } from '../request/fields.ts';
import { isFirstSending } from '../request/once.ts';
import { type MemberVisit, type Reply, redirectTo, type Visit } from '../request/visit.ts';
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
export async function askOwnName(visit: MemberVisit): Promise<Reply> {
  return namePage(visit, null);
}

/** POST /dashboard/settings/name: also renames an account that has its name from the member. */
export async function changeOwnName(visit: MemberVisit): Promise<Reply> {
  const { tools, texts, fields, account, user } = visit;
  const name = fields('name').trim();
  if (!isName(name)) return namePage(visit, invalid(texts.nameInvalid, 'name'));
  if (name !== user.name) await renameMember(tools.sql, account.id, user, name);
  return redirectTo(visit, '/settings?done=saved');
}

function namePage(visit: MemberVisit, refusal: Refusal | null): Promise<Reply> {
  const { texts, user, fields } = visit;
  const value = refusal === null ? user.name : fields('name');
  return formPage(visit, {
    path: '/settings/name',
    title: texts.changeName,
    refusal,
    inputs: field({
      name: 'name',
      label: texts.name,
      hint: texts.nameHint,
      value,
      autocomplete: 'organization',
      ...stateOf(refusal, 'name', 'name'),
    }),
    button: texts.saveName,
  });
}

/** GET /dashboard/settings/email */
export async function askOwnEmail(visit: MemberVisit): Promise<Reply> {
  return emailPage(visit, null);
}

/**
 * POST /dashboard/settings/email: sends a link to the new address. The answer does not tell whether another user has it. The
 * present address is told: a new password ends the change.
 */
export async function changeOwnEmail(visit: MemberVisit): Promise<Reply> {
  const { tools, texts, fields, asker, user, account } = visit;
  if (!tools.mails) return emailPage(visit, null);
  const email = fields('email').trim().toLowerCase();
  if (!isEmail(email)) return emailPage(visit, invalid(texts.emailInvalid, 'email'));
  if (email === user.email) return emailPage(visit, invalid(texts.emailSame, 'email'));
  const outcome = await checkPassword(visit, presentPassword(visit));
  if (!outcome.isRight) {
    return emailPage(visit, tooMany(visit, outcome) ?? invalid(texts.wrongPassword, 'present'));
  }
  const done = redirectTo(visit, '/settings?done=email');
  if (!(await isFirstSending(tools.sql, fields(TOKEN_FIELD)))) return done;
  const refusal = tooMany(visit, await admitMail(tools.sql, asker, email, user.email));
  if (refusal !== null) return emailPage(visit, refusal);
  const isTaken = (await findMember(tools.sql, email)) !== null;
  const linkToken = await askEmailChange(tools.sql, user.id, email);
  if (isTaken) send(visit, 'exists', email, '/forgot');
  else send(visit, 'new-email', email, `/email?token=${linkToken}`);
  if (user.emailVerified) send(visit, 'change-asked', user.email, '/settings');
  logSecurity(visit, 'email change asked', { userId: user.id, accountId: account.id });
  return done;
}

async function emailPage(visit: MemberVisit, refusal: Refusal | null): Promise<Reply> {
  const { texts, tools, user, fields } = visit;
  const present = html`<p>${texts.presentEmail} <strong class="email">${user.email}</strong></p>`;
  if (!tools.mails) {
    const body = html`
<section class="card sheet confirm">
  <h1>${texts.changeEmail}</h1>
  ${present}
  <p>${texts.changeEmailNoMail} ${contactLink(visit)}</p>
</section>`;
    return memberPage(visit, { section: '/settings', title: texts.changeEmail, body });
  }
  const emailField = field({
    name: 'email',
    label: texts.newEmail,
    type: 'email',
    value: fields('email'),
    hint: texts.newEmailHint,
    autocomplete: 'email',
    maxLength: 254,
    ...stateOf(refusal, 'email', 'email'),
  });
  return formPage(visit, {
    path: '/settings/email',
    title: texts.changeEmail,
    refusal,
    lead: present,
    inputs: html`${emailField}${presentPasswordField(visit, stateOf(refusal, 'present', 'email'))}`,
    button: texts.sendLink,
  });
}

/** A page with one form of the settings. */
async function formPage(
  visit: MemberVisit,
  form: { path: string; title: string; lead?: Html; refusal: Refusal | null; inputs: Html; button: string },
): Promise<Reply> {
  const { texts, tools } = visit;
  const { path, title, lead, refusal, inputs, button } = form;
  const body = html`
<section class="card sheet confirm">
  <h1>${title}</h1>
  ${lead}
  ${refusalAlert(refusal)}
  <form method="post" action="${tools.base}${path}">
    ${token(visit)}
    ${inputs}
    <div class="actions">
      <button type="submit">${button}</button>
      <a class="button quiet" href="${tools.base}/settings">${texts.cancel}</a>
    </div>
  </form>
</section>`;
  return memberPage(visit, { section: '/settings', title, body, ...refusal });
}

/** GET /dashboard/email?token=: the press is a POST, since a mail scanner opens links too. */
export async function showEmailChange(visit: Visit): Promise<Reply> {
  const { texts, tools } = visit;
  const linkToken = linkTokenOf(visit, 'email');
  const email = linkToken === null ? null : await findEmailChange(tools.sql, linkToken);
  if (linkToken === null || email === null) return invalidLink(visit);
  return confirmPage(visit, '/email', linkToken, texts.newEmailLead(email));
}

/** POST /dashboard/email: the new address is the user's, and the previous one is told. */
export async function takeEmailChange(visit: Visit): Promise<Reply> {
  const { tools, texts } = visit;
  const linkToken = linkTokenOf(visit, 'email');
  const change = linkToken === null ? null : await confirmEmailChange(tools.sql, linkToken);
  if (change === null) return invalidLink(visit);
  logSecurity(visit, 'email changed', change);
  if (change.previousIsConfirmed) {
    const member = await memberOf(tools.sql, change.userId);
    const url = tools.config.contact ?? `${tools.publicUrl}/dashboard/sign-in`;
    tools.mailer?.send({
      kind: 'changed',
      to: change.previous,
      url,
      language: member?.language ?? texts.language,
    });
  }
  if (visit.session !== null) return redirectTo(visit, '/settings?done=email-changed');
  return messagePage(visit, 200, texts.confirmTitle, texts.emailChanged);
}

/** Sends a mail with a link below the dashboard, in the language of the visit. */
function send({ tools, texts }: Visit, kind: LinkMail['kind'], to: string, path: string): void {
  tools.mailer?.send({ kind, to, url: `${tools.publicUrl}/dashboard${path}`, language: texts.language });
}

function invalid(message: string, name: string): Refusal {
  const faults: Faults = { [name]: message };
  return { message, status: 422, faults };
}
