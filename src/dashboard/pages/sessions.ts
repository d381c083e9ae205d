import { browserName } from '../auth/browser-name.ts';
import { logSecurity } from '../auth/security-log.ts';
import { endOtherSessions, listSessions, type OwnSession } from '../auth/sessions.ts';
import { networkOf } from '../request/client-address.ts';
import { type MemberVisit, type Reply, redirectTo } from '../request/visit.ts';
import { html } from '../ui/html.ts';
import { memberPage, notice, token } from '../ui/layout.ts';

/** GET /dashboard/settings/sessions: where the member is signed in. */
export async function showSessions(visit: MemberVisit): Promise<Reply> {
  const { texts, tools, formats, session, user, url } = visit;
  const sessions = await listSessions(tools.sql, user.id);
  const moment = (at: Date) => html`<time datetime="${at.toISOString()}">${formats.moment(at)}</time>`;
  const row = ({ id, userAgent, since, lastUsed, address }: OwnSession) => html`
    <tr>
      <th scope="row">${userAgent === null ? texts.unknownBrowser : browserName(userAgent)} ${id === session.id && html`<span class="badge">${texts.thisSession}</span>`}</th>
      <td data-label="${texts.signedInSince}">${moment(since)}</td>
      <td data-label="${texts.lastUsed}">${id === session.id ? texts.now : moment(lastUsed)}</td>
      <td data-label="${texts.ipAddress}">${address === null ? '–' : html`<code>${networkOf(address)}</code>`}</td>
    </tr>`;
  const body = html`
${notice(url.searchParams.get('done') === 'ended' ? texts.sessionsEnded : null)}
<h1>${texts.sessions}</h1>
<p class="lead">${texts.sessionsLead} ${texts.timesUtc}</p>
<div class="card list">
<table class="stacked">
  <thead><tr><th scope="col">${texts.browser}</th><th scope="col">${texts.signedInSince}</th><th scope="col">${texts.lastUsed}</th><th scope="col">${texts.ipAddress}</th></tr></thead>
  <tbody>${sessions.map(row)}
  </tbody>
</table>
</div>
${
  sessions.length > 1 &&
  html`
<form class="actions" method="post" action="${tools.base}/settings/sessions">
  ${token(visit)}
  <button type="submit">${texts.endSessions}</button>
</form>`
}`;
  return memberPage(visit, { section: '/settings', title: texts.sessions, body });
}

/** POST /dashboard/settings/sessions: signs the member out everywhere else. */
export async function signOutOthers(visit: MemberVisit): Promise<Reply> {
  const { tools, user, account, session } = visit;
  await endOtherSessions(tools.sql, { id: user.id, accountId: account.id }, session.id);
  logSecurity(visit, 'other sessions ended', { userId: user.id, accountId: account.id });
  return redirectTo(visit, '/settings/sessions?done=ended');
}
