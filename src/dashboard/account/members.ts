import { admit, changesOf, mailsTo } from '../auth/limits.ts';
import { invitationMail } from '../auth/mail-text.ts';
import { type AccountMember, actorOf, listMembers, removeMember } from '../auth/members.ts';
import { logOfMember, logSecurity } from '../auth/security-log.ts';
import { presentRefusal } from '../auth/sign-in.ts';
import type { MemberContext } from '../page-context.ts';
import { type PageResponse, redirectTo } from '../request/context.ts';
import {
  emailField,
  form,
  formHandlers,
  presentPassword,
  type Refusal,
  refuse,
  tooMany,
} from '../request/forms.ts';
import { formPage, memberPage, notFoundPage, ownersOnly } from '../request/layout.ts';
import { type Html, html } from '../ui/html.ts';
import { type Column, contactLink, dateOf, moment, sentence, table } from '../ui/parts.ts';
import {
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
    const email = sent('email').trim().toLowerCase();
    const isMember = (await listMembers(tools.sql, account.id)).some((member) => member.email === email);
    if (isMember) return refuse(422, { faults: { email: messages.isMember } });
    // Sent again, by its button: the invitation was made with the password.
    const again = (await listInvitations(tools.sql, account.id)).find((pending) => pending.email === email);
    const refusal =
      (again === undefined ? await presentRefusal(context) : null) ??
      tooMany(context, await admit(tools.sql, changesOf(user, 'member-invited'), mailsTo(email)));
    if (refusal !== null) return refusal;
    const role = again ? again.role : sent('role') === 'owner' ? 'owner' : 'member';
    const invited = await invite(tools.sql, { accountId: account.id, email, role }, actorOf(user)).catch(
      (error) => {
        if (error instanceof TooManyMembersError) return null;
        throw error;
      },
    );
    if (invited === null) return refuse(409, { message: messages.tooManyMembers });
    const { token, expires } = invited;
    const link = `${tools.publicUrl}/dashboard/invitation?token=${token}`;
    tools.mailer.sendSoon('invitation', invitationMail({ email, accountName: account.name, link, expires }));
    logOfMember(context, 'member invited');
    return redirectTo(context, `${PATH}?done=invited`);
  },
});

function memberTable(
  { messages, tools, formats, user, role }: MemberContext,
  members: AccountMember[],
): Html {
  const remove = ({ id, email }: AccountMember) =>
    html`<a class="button small quiet-bad" href="${tools.base}${PATH}/${id}/remove" aria-label="${messages.removeMember}: ${email}">${messages.removeMember}</a>`;
  const columns: Column<AccountMember>[] = [
    [
      messages.email,
      ({ id, email }) =>
        html`${email} ${id === user.id && html`<span class="badge">${messages.byYou}</span>`}`,
    ],
    [messages.name, ({ name }) => name, 'long'],
    [messages.role, ({ role }) => messages.roles[role]],
    [messages.memberSince, ({ since }) => dateOf(formats, since)],
    [messages.lastSignIn, ({ lastSignIn }) => (lastSignIn === null ? '–' : dateOf(formats, lastSignIn))],
    [messages.secondFactor, ({ secondFactor }) => messages[secondFactor ? 'on' : 'off']],
    [
      messages.change,
      (one) => members.length > 1 && (role === 'owner' || one.id === user.id) && remove(one),
      'end',
    ],
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
      look: 'quiet',
      isInline: true,
    });
  const columns: Column<PendingInvitation>[] = [
    [messages.email, ({ email }) => email],
    [messages.role, ({ role }) => messages.roles[role ?? 'owner']],
    [messages.validUntil, ({ expires }) => moment(formats, expires)],
    [
      messages.change,
      ({ email }) => [
        context.tools.mails && button(PATH, email, messages.confirmAgain),
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

function inviteForm(context: MemberContext, refusal: Refusal | null): Html {
  const { messages, tools, user } = context;
  if (!tools.mails) {
    const contact = contactLink(context);
    return html`<p>${sentence(messages.inviteNoMail, contact && html` (${contact})`)}</p>`;
  }
  const roles: [string, string][] = [
    ['member', messages.roles.member],
    ['owner', messages.roles.owner],
  ];
  return html`
<section class="card narrow" aria-labelledby="invite-title">
  <h2 id="invite-title">${messages.invite}</h2>
  ${form(context, {
    username: user.email,
    fields: [
      emailField(messages.email, 'off'),
      { name: 'role', label: messages.role, options: roles },
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
  if (context.role !== 'owner') return ownersOnly(context);
  await withdrawInvitation(tools.sql, { accountId: account.id, email: sent('email') }, actorOf(user));
  return redirectTo(context, `${PATH}?done=withdrawn`);
}

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
    return redirectTo(context, removed.id === user.id ? '/sign-in?done=out' : `${PATH}?done=removed`);
  },
});
