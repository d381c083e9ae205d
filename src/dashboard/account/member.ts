import { confirmedForm } from '../auth/confirmed-form.ts';
import { changesOf, countAttempt } from '../auth/limits.ts';
import { type AccountMember, actorOf, changeMember, listMembers } from '../auth/members.ts';
import { logSecurity } from '../auth/security-log.ts';
import type { MemberContext } from '../context.ts';
import { redirectTo, refuse, tooMany } from '../request/forms.ts';
import { notFoundPage, ownersOnly } from '../request/layout.ts';
import { html } from '../ui/html.ts';
import { PATH, roleOptions } from './members.ts';

const isMeant = (context: MemberContext) => (member: AccountMember) => member.id === context.id;

const memberOf = async (context: MemberContext) =>
  (await listMembers(context.tools.sql, context.account.id)).find(isMeant(context));

/** /dashboard/settings/members/:id/role: an owner changes a member's role, or their own. */
export const role = confirmedForm({
  async page(context) {
    const { messages } = context;
    const member = await memberOf(context);
    if (member === undefined) return notFoundPage(context);
    return {
      title: messages.changeRole,
      lead: html`<p><strong class="email">${member.email}</strong></p><p>${messages.membersLead}</p>`,
      fields: [{ name: 'role', label: messages.role, value: member.role, options: roleOptions(messages) }],
      button: messages.save,
      cancel: PATH,
    };
  },
  async submit(context) {
    const { tools, messages, id, sent, account, user } = context;
    const refusal = tooMany(context, await countAttempt(tools.sql, changesOf(user, 'role-changed')));
    if (refusal !== null) return refusal;
    const role = sent('role') === 'owner' ? 'owner' : 'member';
    const outcome = await changeMember(tools.sql, account.id, isMeant(context), role, actorOf(user));
    if (outcome === null) return notFoundPage(context);
    if (outcome === 'last') return refuse(409, { message: messages.lastMember });
    // As it was: nothing has changed.
    if (outcome.role === role) return redirectTo(context, PATH);
    logSecurity(context, 'role changed', { userId: id, accountId: account.id });
    return redirectTo(context, `${PATH}?done=role`);
  },
});

/** /dashboard/settings/members/:id/remove: an owner removes a member, or a member leaves. */
export const removal = confirmedForm({
  async page(context) {
    const { messages, id, user } = context;
    const member = await memberOf(context);
    if (member === undefined) return notFoundPage(context);
    const isLeaving = id === user.id;
    if (context.role !== 'owner' && !isLeaving) return ownersOnly(context);
    return {
      title: isLeaving ? messages.leaveTitle : messages.removeTitle,
      lead: html`<p><strong class="email">${member.email}</strong></p><p>${isLeaving ? messages.leaveLead : messages.removeLead}</p>`,
      button: isLeaving ? messages.leave : messages.removeMember,
      look: 'bad',
      cancel: PATH,
    };
  },
  async submit(context) {
    const { tools, messages, id, account, user } = context;
    const removed = await changeMember(tools.sql, account.id, isMeant(context), 'removed', actorOf(user));
    if (removed === 'last') return refuse(409, { message: messages.lastMember });
    if (removed === null) return redirectTo(context, PATH);
    logSecurity(context, 'member removed', { userId: id, accountId: account.id });
    return redirectTo(context, id === user.id ? '/sign-in?done=left' : `${PATH}?done=removed`);
  },
});
