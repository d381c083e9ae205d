import { admit, changesOf, isFirstSending, mailsOf, mailsTo } from '../auth/limits.ts';
import { MAILS } from '../auth/mail-text.ts';
import { actorOf, renameMember } from '../auth/members.ts';
import { tell } from '../auth/reader.ts';
import { logOfMember } from '../auth/security-log.ts';
import { findEmailOwner } from '../auth/sessions.ts';
import { presentRefusal } from '../auth/sign-in.ts';
import type { MemberContext } from '../page-context.ts';
import { redirectTo } from '../request/context.ts';
import { TOKEN_FIELD } from '../request/csrf.ts';
import { emailField, formHandlers, presentPassword, refusalOf, refuse, tooMany } from '../request/forms.ts';
import { formPage, memberPage, ownersOnly } from '../request/layout.ts';
import { html } from '../ui/html.ts';
import { contactLink } from '../ui/parts.ts';
import { askEmailChange } from './email-change.ts';
import { renameAccount } from './roles.ts';

/** /dashboard/settings/name: also renames an account that has its name from the member. */
export const ownName = formHandlers({
  show(context: MemberContext, refusal) {
    const { messages, user } = context;
    const field = { label: messages.name, hint: messages.nameHint, autocomplete: 'organization' };
    return formPage(context, {
      title: messages.changeName,
      fields: [{ name: 'name', value: user.name, ...field }],
      button: messages.save,
      cancel: '/settings',
      refusal,
    });
  },
  checks: ['name'],
  async submit(context) {
    const { tools, sent, account, user } = context;
    const name = sent('name').trim();
    if (name !== user.name) {
      const refusal = tooMany(context, await admit(tools.sql, changesOf(user, 'name-changed')));
      if (refusal !== null) return refusal;
      await renameMember(tools.sql, account.id, user, name);
    }
    return redirectTo(context, '/settings?done=saved');
  },
});

/** /dashboard/settings/account-name, for owners. */
export const accountName = formHandlers({
  async show(context: MemberContext, refusal) {
    const { messages, account } = context;
    if (context.role !== 'owner') return ownersOnly(context);
    return formPage(context, {
      title: messages.changeAccountName,
      fields: [{ name: 'name', label: messages.name, value: account.name, hint: messages.accountNameHint }],
      button: messages.save,
      cancel: '/settings',
      refusal,
    });
  },
  checks: ['name'],
  async submit(context) {
    const { tools, sent, account, user } = context;
    if (context.role !== 'owner') return ownersOnly(context);
    const name = sent('name').trim();
    if (name !== account.name) {
      const refusal = tooMany(context, await admit(tools.sql, changesOf(user, 'account-renamed')));
      if (refusal !== null) return refusal;
      await renameAccount(tools.sql, account.id, name, actorOf(user));
    }
    return redirectTo(context, '/settings?done=saved');
  },
});

/**
 * /dashboard/settings/email: sends a link to the new address. The answer does not tell whether another user has it. The
 * present address gets a warning: a new password ends the change.
 */
export const ownEmail = formHandlers({
  show(context: MemberContext, refusal) {
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
      return memberPage(context, { title, body, ...refusal });
    }
    return formPage(context, {
      title,
      lead: present,
      username: user.email,
      fields: [
        { ...emailField(messages.newEmail, 'email'), hint: messages.newEmailHint },
        presentPassword(messages),
      ],
      button: messages.sendLink,
      cancel: '/settings',
      refusal,
    });
  },
  checks: ['email'],
  async submit(context) {
    const { tools, messages, sent, client, account, user } = context;
    if (!tools.mails) return refuse(403, { message: messages.changeEmailNoMail });
    const email = sent('email').trim().toLowerCase();
    const refusal =
      refusalOf({ email: email === user.email && messages.emailSame }) ?? (await presentRefusal(context));
    if (refusal !== null) return refusal;
    const done = redirectTo(context, '/settings?done=email');
    if (!(await isFirstSending(tools.sql, sent(TOKEN_FIELD)))) return done;
    const tooEarly =
      tooMany(context, await admit(tools.sql, changesOf(user, 'email-changed'))) ??
      tooMany(context, await admit(tools.sql, mailsTo(email, `new-email ${account.id}`), ...mailsOf(client)));
    if (tooEarly !== null) return tooEarly;
    const isTaken = (await findEmailOwner(tools.sql, email)) !== null;
    const token = await askEmailChange(tools.sql, user.id, email);
    const url = (path: string) => ({ url: `${tools.publicUrl}/dashboard${path}` });
    const mail = isTaken ? MAILS.exists(url('/forgot')) : MAILS['new-email'](url(`/email?token=${token}`));
    tell(context, email, mail);
    if (user.emailVerified) tell(context, user.email, MAILS['change-asked'](url('/settings')));
    logOfMember(context, 'email change asked');
    return done;
  },
});
