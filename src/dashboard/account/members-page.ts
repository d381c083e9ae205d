import { formHandlers, memberForm } from '../auth/form-page.ts';
import { changesOf, limited, mailsTo } from '../auth/limits.ts';
import {
  type AccountMember,
  actorOf,
  changeMember,
  listMembers,
  logOfMember,
  logSecurity,
} from '../auth/members.ts';
import { presentRefusal } from '../auth/sign-in.ts';
import type { MemberContext, PageResponse } from '../context.ts';
import type { Messages } from '../messages.ts';
import { emailField, form, presentPassword, type Refusal, redirectTo, refuse } from '../request/forms.ts';
import { memberPage, notFoundPage, ownersOnly } from '../request/layout.ts';
import { isEmail } from '../request/read-form.ts';
import { type Column, contactLink, dateOf, type Html, html, moment, sentence, table } from '../ui/html.ts';
import {
  invitationMail,
  invite,
  listInvitations,
  type PendingInvitation,
  TooManyMembersError,
  withdrawInvitation,
} from './invitations.ts';

const PATH = '/settings/members';

/** /dashboard/settings/members: the members and the pending invitations; a POST of an owner invites by mail. */
export const members = formHandlers({
  async show(context: MemberContext, refusal) {
    const { messages, tools, account, role } = context;
    const members = await listMembers(tools.sql, account.id);
    const body = html`
<h1>${messages.members}</h1>
<p class="lead">${messages.membersLead} ${messages.timesUtc}</p>
<div class="card list">${memberTable(context, members)}</div>
${role === 'owner' && pendingList(context, await listInvitations(tools.sql, account.id))}
${role === 'owner' && inviteForm(context, refusal)}`;
    return memberPage(context, { title: messages.members, body, ...refusal });
  },
  checks: ['email'],
  async submit(context) {
    const { tools, messages, sent, account, user } = context;
    if (context.role !== 'owner') return ownersOnly(context);
    if (tools.mailer === null) return refuse(403, { message: messages.inviteNoMail('') });
    if (account.suspended) return refuse(403, { message: messages.suspendedRefusal });
    const email = sent('email').trim().toLowerCase();
    const isMember = (await listMembers(tools.sql, account.id)).some((member) => member.email === email);
    if (isMember) return refuse(422, { faults: { email: messages.isMember } });
    // Sent again, by its button: the invitation was made with the password.
    const again = (await listInvitations(tools.sql, account.id)).find((pending) => pending.email === email);
    const refusal =
      (again === undefined ? await presentRefusal(context) : null) ??
      (await limited(context, [
        changesOf(user, 'member-invited'),
        mailsTo(email, `invitation ${account.id}`),
      ]));
    if (refusal !== null) return refusal;
    const role = again ? again.role : sent('role') === 'owner' ? 'owner' : 'member';
    const invitation = { accountId: account.id, email, role };
    const made = await invite(tools.sql, invitation, actorOf(user)).catch((error) => {
      if (error instanceof TooManyMembersError) return null;
      throw error;
    });
    if (made === null) return refuse(409, { message: messages.tooManyMembers });
    const by = { email: user.email, language: messages.language };
    void tools.mailer.send(...invitationMail(made, tools.publicUrl, by));
    logOfMember(context, 'member invited');
    return redirectTo(context, `${PATH}?done=invited`);
  },
});

function memberTable(
  { messages, tools, formats, user, role }: MemberContext,
  members: AccountMember[],
): Html {
  const isMany = members.length > 1;
  const remove = ({ id, email }: AccountMember) => {
    const label = id === user.id ? messages.leave : messages.removeMember;
    return html`<a class="button small quiet-bad" href="${tools.base}${PATH}/${id}/remove" aria-label="${label}: ${email}">${label}</a>`;
  };
  const change = ({ id, email }: AccountMember) =>
    html`<br><a href="${tools.base}${PATH}/${id}/role" aria-label="${messages.change}: ${messages.role}, ${email}">${messages.change}</a>`;
  const columns: Column<AccountMember>[] = [
    [
      messages.email,
      ({ id, email }) =>
        html`${email} ${id === user.id && html`<span class="badge">${messages.byYou}</span>`}`,
    ],
    [messages.name, ({ name }) => name],
    [
      messages.role,
      (one) => html`<span>${messages.roles[one.role]}${isMany && role === 'owner' && change(one)}</span>`,
    ],
    [messages.memberSince, ({ since }) => dateOf(formats, since)],
    [messages.lastSignIn, ({ lastSignIn }) => (lastSignIn === null ? '–' : dateOf(formats, lastSignIn))],
    [messages.secondFactor, ({ secondFactor }) => messages[secondFactor ? 'on' : 'off']],
    [messages.change, (one) => isMany && (role === 'owner' || one.id === user.id) && remove(one), 'end'],
  ];
  return table(columns, members);
}

function pendingList(context: MemberContext, pending: PendingInvitation[]): Html | false {
  const { messages, formats } = context;
  const button = (path: string, email: string, label: string) =>
    form(context, {
      path,
      hidden: { email },
      button: label,
      buttonName: `${label}: ${email}`,
      look: 'small quiet',
    });
  const columns: Column<PendingInvitation>[] = [
    [messages.email, ({ email }) => email],
    [messages.role, ({ role }) => messages.roles[role]],
    [messages.worksUntil, ({ expires }) => moment(formats, expires)],
    [
      messages.change,
      ({ email }) => [
        context.tools.mailer && button(PATH, email, messages.confirmAgain),
        button(`${PATH}/withdraw`, email, messages.withdraw),
      ],
      'end',
    ],
  ];
  return (
    pending.length > 0 &&
    html`<h2>${messages.pendingInvitations}</h2><div class="card list" id="pending">${table(columns, pending)}</div>`
  );
}

const roleOptions = ({ roles }: Messages): [string, string][] => [
  ['member', roles.member],
  ['owner', roles.owner],
];

function inviteForm(context: MemberContext, refusal: Refusal | null): Html {
  const { messages, tools, user } = context;
  if (!tools.mailer) {
    const contact = contactLink(context);
    return html`<p>${sentence(messages.inviteNoMail, contact && html` (${contact})`)}</p>`;
  }
  return html`
<section class="card narrow" aria-labelledby="invite-title">
  <h2 id="invite-title">${messages.invite}</h2>
  ${form(context, {
    username: user.email,
    fields: [
      emailField(messages.email, 'off'),
      { name: 'role', label: messages.role, options: roleOptions(messages) },
      presentPassword(messages),
    ],
    focus: false,
    button: messages.invite,
    refusal,
  })}
</section>`;
}

/** POST /dashboard/settings/members/withdraw */
export async function withdraw(context: MemberContext): Promise<PageResponse> {
  const { tools, sent, account, user } = context;
  const email = sent('email');
  if (isEmail(email)) await withdrawInvitation(tools.sql, { accountId: account.id, email }, actorOf(user));
  return redirectTo(context, `${PATH}?done=withdrawn`);
}

const isMeant = (context: MemberContext) => (member: AccountMember) => member.id === context.id;

const memberOf = async (context: MemberContext) =>
  (await listMembers(context.tools.sql, context.account.id)).find(isMeant(context));

/** /dashboard/settings/members/:id/role: an owner changes a member's role, or their own. */
export const role = memberForm({
  password: true,
  limit: ({ user }) => [changesOf(user, 'role-changed')],
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
export const removal = memberForm({
  password: true,
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
