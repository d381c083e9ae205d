import { logOfMember } from '../auth/security-log.ts';
import { endOtherSessions, listSessions, type OwnSession } from '../auth/sessions.ts';
import type { MemberContext } from '../page-context.ts';
import { networkOf } from '../request/client-address.ts';
import { type PageResponse, redirectTo } from '../request/context.ts';
import { form } from '../request/forms.ts';
import { type Html, html } from '../ui/html.ts';
import { type Column, moment, table } from '../ui/parts.ts';
import { browserName } from './browser-name.ts';

/** The part of the settings about the browsers in which the member is signed in. */
export async function sessionsCard(context: MemberContext): Promise<Html> {
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
  return html`
<section class="card" id="sessions" aria-labelledby="sessions-title">
  <div>
    <h2 id="sessions-title">${messages.sessions}</h2>
    <p class="lead">${messages.sessionsLead} ${messages.timesUtc}</p>
  </div>
  ${table(columns, sessions)}
  ${sessions.length > 1 && form(context, { path: '/settings/sessions', button: messages.endSessions, look: 'quiet' })}
</section>`;
}

/** POST /dashboard/settings/sessions: signs the member out everywhere else. */
export async function signOutOthers(context: MemberContext): Promise<PageResponse> {
  const { tools, user, account, session } = context;
  await endOtherSessions(tools.sql, { id: user.id, accountId: account.id }, session.id);
  logOfMember(context, 'other sessions ended');
  return redirectTo(context, '/settings?done=ended');
}
