import { admit, changesOf } from '../auth/limits.ts';
import { actorOf, listMembers, removeMember } from '../auth/members.ts';
import { logSecurity } from '../auth/security-log.ts';
import { presentRefusal } from '../auth/sign-in.ts';
import type { MemberContext } from '../page-context.ts';
import { redirectTo } from '../request/context.ts';
import { formHandlers, presentPassword, refuse, tooMany } from '../request/forms.ts';
import { formPage, notFoundPage, ownersOnly } from '../request/layout.ts';
import { html } from '../ui/html.ts';
import { PATH } from './members.ts';
import { changeRole } from './roles.ts';

/** /dashboard/settings/members/:id/role: an owner changes a member's role, or their own. It asks for their password. */
export const role = formHandlers({
  async show(context: MemberContext, refusal) {
    const { messages, tools, id, account, user } = context;
    if (context.role !== 'owner') return ownersOnly(context);
    const member = (await listMembers(tools.sql, account.id)).find((member) => member.id === id);
    if (member === undefined) return notFoundPage(context);
    const roles = (member.role === 'owner' ? ['owner', 'member'] : ['member', 'owner']) as [
      'owner',
      'member',
    ];
    const options = roles.map((role): [string, string] => [role, messages.roles[role]]);
    return formPage(context, {
      title: messages.changeRole,
      lead: html`<p><strong class="email">${member.email}</strong></p><p>${messages.membersLead}</p>`,
      username: user.email,
      fields: [{ name: 'role', label: messages.role, options }, presentPassword(messages)],
      button: messages.save,
      cancel: PATH,
      refusal,
    });
  },
  async submit(context) {
    const { tools, messages, id, sent, account, user } = context;
    if (context.role !== 'owner') return ownersOnly(context);
    const refusal =
      (await presentRefusal(context)) ??
      tooMany(context, await admit(tools.sql, changesOf(user, 'role-changed')));
    if (refusal !== null) return refusal;
    const role = sent('role') === 'owner' ? 'owner' : 'member';
    const outcome = await changeRole(tools.sql, account.id, { id, role }, actorOf(user));
    if (outcome === null) return notFoundPage(context);
    if (outcome === 'last') return refuse(409, { message: messages.lastMember });
    logSecurity(context, 'role changed', { userId: id, accountId: account.id });
    return redirectTo(context, `${PATH}?done=role`);
  },
});

/** /dashboard/settings/members/:id/remove: an owner removes a member, or a member leaves. It asks for their password. */
export const removal = formHandlers({
  async show(context: MemberContext, refusal) {
    const { messages, tools, id, account, user, role } = context;
    const member = (await listMembers(tools.sql, account.id)).find((member) => member.id === id);
    if (member === undefined) return notFoundPage(context);
    if (role !== 'owner' && id !== user.id) return ownersOnly(context);
    const isLeaving = id === user.id;
    return formPage(context, {
      title: isLeaving ? messages.leaveTitle : messages.removeTitle,
      lead: html`<p><strong class="email">${member.email}</strong></p><p>${isLeaving ? messages.leaveLead : messages.removeLead}</p>`,
      username: user.email,
      fields: [presentPassword(messages)],
      button: isLeaving ? messages.leave : messages.removeMember,
      look: 'bad',
      cancel: PATH,
      refusal,
    });
  },
  async submit(context) {
    const { tools, messages, id, account, user, role } = context;
    if (role !== 'owner' && id !== user.id) return ownersOnly(context);
    const refusal = await presentRefusal(context);
    if (refusal !== null) return refusal;
    const removed = await removeMember(tools.sql, account.id, (member) => member.id === id, actorOf(user));
    if (removed === 'last') return refuse(409, { message: messages.lastMember });
    if (removed !== null)
      logSecurity(context, 'member removed', { userId: removed.id, accountId: account.id });
    if (removed === null) return redirectTo(context, PATH);
    return redirectTo(context, removed.id === user.id ? '/sign-in?done=left' : `${PATH}?done=removed`);
  },
});
