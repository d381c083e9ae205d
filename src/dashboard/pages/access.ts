import { browserName } from '../auth/browser-name.ts';
import { type AccountMember, actorOf, listMembers, removeMember } from '../auth/members.ts';
import type { MemberContext } from '../auth/page-context.ts';
import { logSecurity } from '../auth/security-log.ts';
import { endOtherSessions, listSessions, type OwnSession } from '../auth/sessions.ts';
import { presentRefusal } from '../auth/sign-in.ts';
import { networkOf } from '../request/client-address.ts';
import { type PageResponse, redirectTo } from '../request/context.ts';
import { form, formHandlers, presentPassword } from '../request/forms.ts';
import { formPage, memberPage, notFoundPage } from '../request/layout.ts';
import { html } from '../ui/html.ts';
import { type Column, contactLink, moment, sentence, table } from '../ui/parts.ts';

/** GET /dashboard/settings/members: the users that sign in to the account. */
export async function showMembers(context: MemberContext): Promise<PageResponse> {
  const { messages, tools, formats, account, user } = context;
  const members = await listMembers(tools.sql, account.id);
  const remove = ({ id, email }: AccountMember) =>
    html`<a class="button small quiet-bad" href="${tools.base}/settings/members/${id}/remove" aria-label="${messages.removeMember}: ${email}">${messages.removeMember}</a>`;
  const columns: Column<AccountMember>[] = [
    [
      messages.email,
      ({ id, email }) =>
        html`${email} ${id === user.id && html`<span class="badge">${messages.byYou}</span>`}`,
    ],
    [messages.name, ({ name }) => name, 'long'],
    [messages.memberSince, ({ since }) => moment(formats, since)],
    [messages.lastSignIn, ({ lastSignIn }) => (lastSignIn === null ? '–' : moment(formats, lastSignIn))],
    [messages.secondFactor, ({ secondFactor }) => messages[secondFactor ? 'on' : 'off']],
    [messages.change, (member) => members.length > 1 && remove(member), 'end'],
  ];
  const contact = contactLink(context);
  const lead = sentence(messages.membersLead, contact && html` (${contact})`);
  const body = html`
<h1>${messages.members}</h1>
<p class="lead">${lead} ${messages.timesUtc}</p>
<div class="card list">${table(columns, members)}</div>`;
  return memberPage(context, { title: messages.members, body });
}

/** /dashboard/settings/members/:id/remove: asks for the password of the member who removes. */
export const removal = formHandlers({
  async show(context: MemberContext, refusal) {
    const { messages, tools, id, account, user } = context;
    const member = (await listMembers(tools.sql, account.id)).find((member) => member.id === id);
    if (member === undefined) return notFoundPage(context);
    return formPage(context, {
      title: messages.removeTitle,
      lead: html`<p><strong class="email">${member.email}</strong></p><p>${messages.removeLead}</p>`,
      username: user.email,
      fields: [presentPassword(messages)],
      button: messages.removeMember,
      look: 'bad',
      cancel: '/settings/members',
      refusal,
    });
  },
  async submit(context) {
    const { tools, messages, id, account, user } = context;
    const refusal = await presentRefusal(context);
    if (refusal !== null) return refusal;
    const removed = await removeMember(tools.sql, account.id, (member) => member.id === id, actorOf(user));
    if (removed === 'last') return { message: messages.lastMember, status: 409 };
    if (removed !== null)
      logSecurity(context, 'member removed', { userId: removed.id, accountId: account.id });
    if (removed?.id === user.id) return redirectTo(context, '/sign-in?done=out');
    return redirectTo(context, removed === null ? '/settings/members' : '/settings/members?done=removed');
  },
});

/** GET /dashboard/settings/sessions: the browsers in which the member is signed in. */
export async function showSessions(context: MemberContext): Promise<PageResponse> {
  const { messages, tools, formats, session, user } = context;
  const sessions = await listSessions(tools.sql, user.id);
  const isThis = ({ id }: OwnSession) => id === session.id;
  const browser = (one: OwnSession) => html`
    ${one.userAgent === null ? messages.unknownBrowser : browserName(one.userAgent)} ${isThis(one) && html`<span class="badge">${messages.thisSession}</span>`}`;
  const columns: Column<OwnSession>[] = [
    [messages.browser, browser],
    [messages.signedInSince, ({ since }) => moment(formats, since)],
    [messages.lastUsed, (one) => (isThis(one) ? messages.now : moment(formats, one.lastUsed))],
    [
      messages.ipAddress,
      ({ address }) => (address === null ? '–' : html`<code>${networkOf(address)}</code>`),
    ],
  ];
  const body = html`
<h1>${messages.sessions}</h1>
<p class="lead">${messages.sessionsLead} ${messages.timesUtc}</p>
<div class="card list">${table(columns, sessions)}</div>
${sessions.length > 1 && form(context, { path: '/settings/sessions', button: messages.endSessions })}`;
  return memberPage(context, { title: messages.sessions, body });
}

/** POST /dashboard/settings/sessions: signs the member out everywhere else. */
export async function signOutOthers(context: MemberContext): Promise<PageResponse> {
  const { tools, user, account, session } = context;
  await endOtherSessions(tools.sql, { id: user.id, accountId: account.id }, session.id);
  logSecurity(context, 'other sessions ended', { userId: user.id, accountId: account.id });
  return redirectTo(context, '/settings/sessions?done=ended');
}
