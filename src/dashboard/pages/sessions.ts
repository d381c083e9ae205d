import { browserName } from '../auth/browser-name.ts';
import { logSecurity } from '../auth/security-log.ts';
import { endOtherSessions, listSessions, type OwnSession } from '../auth/sessions.ts';
import { networkOf } from '../request/client-address.ts';
import { type MemberContext, type PageResponse, redirectTo } from '../request/page-context.ts';
import { html } from '../ui/html.ts';
import { memberPage, notice, token } from '../ui/layout.ts';

/** GET /dashboard/settings/sessions: where the member is signed in. */
export async function showSessions(context: MemberContext): Promise<PageResponse> {
  const { messages, tools, formats, session, user, url } = context;
  const sessions = await listSessions(tools.sql, user.id);
  const moment = (at: Date) => html`<time datetime="${at.toISOString()}">${formats.moment(at)}</time>`;
  const row = ({ id, userAgent, since, lastUsed, address }: OwnSession) => html`
    <tr>
      <th scope="row">${userAgent === null ? messages.unknownBrowser : browserName(userAgent)} ${id === session.id && html`<span class="badge">${messages.thisSession}</span>`}</th>
      <td data-label="${messages.signedInSince}">${moment(since)}</td>
      <td data-label="${messages.lastUsed}">${id === session.id ? messages.now : moment(lastUsed)}</td>
      <td data-label="${messages.ipAddress}">${address === null ? '–' : html`<code>${networkOf(address)}</code>`}</td>
    </tr>`;
  const body = html`
${notice(url.searchParams.get('done') === 'ended' ? messages.sessionsEnded : null)}
<h1>${messages.sessions}</h1>
<p class="lead">${messages.sessionsLead} ${messages.timesUtc}</p>
<div class="card list">
<table class="stacked">
  <thead><tr><th scope="col">${messages.browser}</th><th scope="col">${messages.signedInSince}</th><th scope="col">${messages.lastUsed}</th><th scope="col">${messages.ipAddress}</th></tr></thead>
  <tbody>${sessions.map(row)}
  </tbody>
</table>
</div>
${
  sessions.length > 1 &&
  html`
<form class="actions" method="post" action="${tools.base}/settings/sessions">
  ${token(context)}
  <button type="submit">${messages.endSessions}</button>
</form>`
}`;
  return memberPage(context, { section: '/settings', title: messages.sessions, body });
}

/** POST /dashboard/settings/sessions: signs the member out everywhere else. */
export async function signOutOthers(context: MemberContext): Promise<PageResponse> {
  const { tools, user, account, session } = context;
  await endOtherSessions(tools.sql, { id: user.id, accountId: account.id }, session.id);
  logSecurity(context, 'other sessions ended', { userId: user.id, accountId: account.id });
  return redirectTo(context, '/settings/sessions?done=ended');
}
