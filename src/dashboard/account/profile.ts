import { lockAccount } from '../../metering/accounts/account-store.ts';
import { recordEvent } from '../../metering/accounts/events.ts';
import { isName } from '../../platform/names.ts';
import { memberForm } from '../auth/form-page.ts';
import { changesOf, isFirstSending, limited, mailsOf, mailsTo } from '../auth/limits.ts';
import { tell } from '../auth/mail-text.ts';
import { actorOf, renameAccount } from '../auth/members.ts';
import { logOfMember } from '../auth/security-log.ts';
import { findOwner } from '../auth/sessions.ts';
import type { MemberContext } from '../context.ts';
import { TOKEN_FIELD } from '../request/csrf.ts';
import { emailField, redirectTo } from '../request/forms.ts';
import { messagePage } from '../request/layout.ts';
import { contactLink, html } from '../ui/html.ts';
import { askEmailChange } from './email-change.ts';

/** /dashboard/settings/name: the member's name, and for owners that of the account. */
export const names = memberForm({
  page({ messages, user, account, role }) {
    const own = { name: 'name', label: messages.name, value: user.name, hint: messages.nameHint };
    const ofAccount = { label: messages.account, value: account.name, hint: messages.accountNameHint };
    const fields = [
      { ...own, autocomplete: 'organization' },
      ...(role === 'owner' ? [{ name: 'account', ...ofAccount }] : []),
    ];
    const title = messages.changeName;
    return { title, fields, button: messages.save, cancel: '/settings' };
  },
  checks: ['name'],
  faults(context) {
    const { account } = newNames(context);
    return { account: account !== undefined && !isName(account) && context.messages.nameInvalid };
  },
  limit(context) {
    const { name, account } = newNames(context);
    const kinds = [name !== undefined && 'name-changed', account !== undefined && 'account-renamed'] as const;
    return kinds.filter((kind) => kind !== false).map((kind) => changesOf(context.user, kind));
  },
  async submit(context) {
    const { tools, user, account } = context;
    const { name, account: accountName } = newNames(context);
    if (name !== undefined)
      await tools.sql.begin(async (sql) => {
        await lockAccount(sql, account.id);
        await sql`UPDATE dashboard_users SET "name" = ${name}, "updatedAt" = now() WHERE "id" = ${user.id}`;
        await recordEvent(sql, account.id, { kind: 'name-changed', actor: actorOf(user) });
      });
    if (accountName !== undefined) await renameAccount(tools.sql, account.id, accountName, actorOf(user));
    return redirectTo(context, '/settings?done=saved');
  },
});

/** The names of a sent form that are not those that stand. */
function newNames({ sent, user, account, role }: MemberContext): { name?: string; account?: string } {
  const [name, ofAccount] = [sent('name').trim(), sent('account').trim()];
  return {
    ...(name !== user.name && { name }),
    ...(role === 'owner' && ofAccount !== account.name && { account: ofAccount }),
  };
}

/**
 * /dashboard/settings/email: sends a link to the new address. The answer does not tell whether another user has it. The
 * present address gets a warning: a new password ends the change.
 */
export const ownEmail = memberForm({
  password: true,
  page(context) {
    const { messages, tools, user } = context;
    const title = messages.changeEmail;
    const lead = html`<p>${messages.signedInAs} <strong class="email">${user.email}</strong></p>`;
    const operator = html`${messages.changeEmailNoMail} ${contactLink(context)}`;
    if (!tools.mailer) return messagePage(context, 200, title, operator);
    const fields = [{ ...emailField(messages.newEmail, 'email'), hint: messages.newEmailHint }];
    return { title, lead, fields, button: messages.sendLink, cancel: '/settings' };
  },
  checks: ['email'],
  faults: ({ sent, user, messages }) => ({
    email: sent('email').trim().toLowerCase() === user.email && messages.emailSame,
  }),
  async submit(context) {
    const { tools, messages, sent, client, account, user } = context;
    if (!tools.mailer) return messagePage(context, 403, messages.changeEmail, messages.changeEmailNoMail);
    const email = sent('email').trim().toLowerCase();
    const done = redirectTo(context, '/settings?done=email');
    if (!(await isFirstSending(tools.sql, sent(TOKEN_FIELD)))) return done;
    const mails = [mailsTo(email, `new-email ${account.id}`), ...mailsOf(client)];
    const tooEarly = await limited(context, [changesOf(user, 'email-changed'), ...mails]);
    if (tooEarly !== null) return tooEarly;
    const isTaken = (await findOwner(tools.sql, { email })) !== null;
    const token = await askEmailChange(tools.sql, user.id, email);
    if (isTaken) tell(context, email, 'exists', '/forgot');
    else tell(context, email, 'new-email', `/email?token=${token}`);
    tell(context, user.email, 'change-asked', '/settings');
    logOfMember(context, 'email change asked');
    return done;
  },
});
