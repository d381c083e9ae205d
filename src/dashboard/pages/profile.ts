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
import { guessRefusal, password, presentPassword, type Refusal, refusalOf, tooMany } from '../ui/forms.ts';
import { html } from '../ui/html.ts';
import { formPage, memberPage, messagePage } from '../ui/layout.ts';
import { contactLink } from '../ui/parts.ts';
import { confirmPage, invalidLink } from './links.ts';

/** GET /dashboard/settings/name */
export async function askOwnName(context: MemberContext, refusal?: Refusal | null): Promise<PageResponse> {
  const { messages, user, fields } = context;
  const value = refusal ? fields('name') : user.name;
  return formPage(context, {
    title: messages.changeName,
    path: '/settings/name',
    fields: [
      { name: 'name', label: messages.name, hint: messages.nameHint, value, autocomplete: 'organization' },
    ],
    button: messages.saveName,
    cancel: '/settings',
    refusal,
  });
}

/** POST /dashboard/settings/name: also renames an account that has its name from the member. */
export async function changeOwnName(context: MemberContext): Promise<PageResponse> {
  const { tools, messages, fields, account, user } = context;
  const name = fields('name').trim();
  if (!isName(name)) return askOwnName(context, refusalOf({ name: messages.nameInvalid }));
  if (name !== user.name) await renameMember(tools.sql, account.id, user, name);
  return redirectTo(context, '/settings?done=saved');
}

/** GET /dashboard/settings/email */
export async function askOwnEmail(context: MemberContext, refusal?: Refusal | null): Promise<PageResponse> {
  const { messages, tools, user } = context;
  const title = messages.changeEmail;
  const present = html`<p>${messages.signedInAs} <strong class="email">${user.email}</strong></p>`;
  if (!tools.mails) {
    const body = html`
<section class="card sheet narrow">
  <h1>${title}</h1>
  ${present}
  <p>${messages.changeEmailNoMail} ${contactLink(context)}</p>
</section>`;
    return memberPage(context, { title, body });
  }
  return formPage(context, {
    title,
    lead: present,
    path: '/settings/email',
    username: user.email,
    fields: [
      {
        name: 'email',
        label: messages.newEmail,
        type: 'email',
        hint: messages.newEmailHint,
        autocomplete: 'email',
        maxLength: 254,
      },
      password('present', messages.presentPassword),
    ],
    button: messages.sendLink,
    cancel: '/settings',
    refusal,
  });
}

/**
 * POST /dashboard/settings/email: sends a link to the new address. The answer does not tell whether another user has it. The
 * present address gets a warning: a new password ends the change.
 */
export async function changeOwnEmail(context: MemberContext): Promise<PageResponse> {
  const { tools, messages, fields, client, user, account } = context;
  if (!tools.mails) return askOwnEmail(context);
  const email = fields('email').trim().toLowerCase();
  const fault = isEmail(email) ? email === user.email && messages.emailSame : messages.emailInvalid;
  const refusal =
    refusalOf({ email: fault }) ??
    guessRefusal(context, await checkPassword(context, presentPassword(context)));
  if (refusal !== null) return askOwnEmail(context, refusal);
  const done = redirectTo(context, '/settings?done=email');
  if (!(await isFirstSending(tools.sql, fields(TOKEN_FIELD)))) return done;
  const tooManyMails = tooMany(context, await admitMail(tools.sql, client, email, user.email));
  if (tooManyMails !== null) return askOwnEmail(context, tooManyMails);
  const isTaken = (await findMember(tools.sql, email)) !== null;
  const linkToken = await askEmailChange(tools.sql, user.id, email);
  if (isTaken) send(context, 'exists', email, '/forgot');
  else send(context, 'new-email', email, `/email?token=${linkToken}`);
  if (user.emailVerified) send(context, 'change-asked', user.email, '/settings');
  logSecurity(context, 'email change asked', { userId: user.id, accountId: account.id });
  return done;
}

/** GET /dashboard/email?token=: the link only shows a button, because mail scanners open links too. */
export async function showEmailChange(context: PageContext): Promise<PageResponse> {
  const { messages, tools } = context;
  const linkToken = linkTokenOf(context, 'email');
  const email = linkToken === null ? null : await findEmailChange(tools.sql, linkToken);
  return confirmPage(context, '/email', email && linkToken, messages.newEmailLead(email ?? ''));
}

/** POST /dashboard/email: the user gets the new address, and the previous one gets a warning. */
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
  return messagePage(context, 200, messages.confirmTitle, messages.done['email-changed']);
}

/** Sends a mail with a link below the dashboard, in the language of the page. */
function send({ tools, messages }: PageContext, kind: LinkMail['kind'], to: string, path: string): void {
  tools.mailer?.send({ kind, to, url: `${tools.publicUrl}/dashboard${path}`, language: messages.language });
}
