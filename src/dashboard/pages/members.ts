import { actorOf, listMembers, removeMember } from '../auth/members.ts';
import { logSecurity } from '../auth/security-log.ts';
import { checkPassword } from '../auth/sign-in.ts';
import { type MemberVisit, type Reply, redirectTo } from '../request/visit.ts';
import { contactLink } from '../ui/contact.ts';
import { html } from '../ui/html.ts';
import { memberPage, messagePage, notice, token } from '../ui/layout.ts';
import {
  presentPassword,
  presentPasswordField,
  type Refusal,
  refusalAlert,
  stateOf,
  tooMany,
} from './entry.ts';

/** GET /dashboard/settings/members: who signs in to the account. */
export async function showMembers(visit: MemberVisit): Promise<Reply> {
  const { texts, tools, formats, account, user, url } = visit;
  const members = await listMembers(tools.sql, account.id);
  const moment = (at: Date) => html`<time datetime="${at.toISOString()}">${formats.moment(at)}</time>`;
  const body = html`
${notice(url.searchParams.get('done') === 'removed' ? texts.memberRemoved : null)}
<h1>${texts.members}</h1>
<p class="lead">${texts.membersLead} ${contactLink(visit)} ${texts.timesUtc}</p>
<div class="card list">
<table class="stacked">
  <thead><tr><th scope="col">${texts.email}</th><th scope="col">${texts.name}</th><th scope="col">${texts.memberSince}</th><th scope="col">${texts.lastSignIn}</th><th scope="col"><span class="unseen">${texts.change}</span></th></tr></thead>
  <tbody>${members.map(
    (member) => html`
    <tr>
      <th scope="row">${member.email} ${member.id === user.id && html`<span class="badge">${texts.byYou}</span>`}</th>
      <td data-label="${texts.name}">${member.name}</td>
      <td data-label="${texts.memberSince}">${moment(member.since)}</td>
      <td data-label="${texts.lastSignIn}">${member.lastSignIn === null ? '–' : moment(member.lastSignIn)}</td>
      <td class="end">${members.length > 1 && html`<a class="button small quiet-bad" href="${tools.base}/settings/members/${member.id}/remove" aria-label="${texts.removeMember}: ${member.email}">${texts.removeMember}</a>`}</td>
    </tr>`,
  )}
  </tbody>
</table>
</div>`;
  return memberPage(visit, { section: '/settings', title: texts.members, body });
}

/** GET /dashboard/settings/members/:id/remove */
export async function askRemoveMember(visit: MemberVisit): Promise<Reply> {
  return removePage(visit, null);
}

/** POST /dashboard/settings/members/:id/remove: asks for the password of the member who removes. */
export async function removeOther(visit: MemberVisit): Promise<Reply> {
  const { tools, texts, params, account, user } = visit;
  const outcome = await checkPassword(visit, presentPassword(visit));
  if (!outcome.isRight) {
    const wrong = { message: texts.wrongPassword, status: 422, faults: { present: texts.wrongPassword } };
    return removePage(visit, tooMany(visit, outcome) ?? wrong);
  }
  const removed = await removeMember(tools.sql, account.id, ({ id }) => id === params.id, actorOf(user));
  if (removed === 'last') return removePage(visit, { message: texts.lastMember, status: 409 });
  if (removed !== null) logSecurity(visit, 'member removed', { userId: removed.id, accountId: account.id });
  return redirectTo(visit, removed?.id === user.id ? '/sign-in?done=out' : '/settings/members?done=removed');
}

async function removePage(visit: MemberVisit, refusal: Refusal | null): Promise<Reply> {
  const { texts, tools, params, account } = visit;
  const member = (await listMembers(tools.sql, account.id)).find(({ id }) => id === params.id);
  if (member === undefined) return messagePage(visit, 404, texts.notFound, texts.notFoundLead);
  const body = html`
<section class="card sheet confirm">
  <h1>${texts.removeTitle}</h1>
  <p><strong class="email">${member.email}</strong></p>
  <p>${texts.removeLead}</p>
  ${refusalAlert(refusal)}
  <form method="post" action="${tools.base}/settings/members/${member.id}/remove">
    ${token(visit)}
    ${presentPasswordField(visit, stateOf(refusal, 'present', 'present'))}
    <div class="actions">
      <button class="bad" type="submit">${texts.removeButton}</button>
      <a class="button quiet" href="${tools.base}/settings/members">${texts.cancel}</a>
    </div>
  </form>
</section>`;
  return memberPage(visit, { section: '/settings', title: texts.removeMember, body, ...refusal });
}
