import { actorOf, listMembers, removeMember } from '../auth/members.ts';
import { logSecurity } from '../auth/security-log.ts';
import { checkPassword } from '../auth/sign-in.ts';
import { type MemberContext, type PageResponse, redirectTo } from '../request/page-context.ts';
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
export async function showMembers(context: MemberContext): Promise<PageResponse> {
  const { messages, tools, formats, account, user, url } = context;
  const members = await listMembers(tools.sql, account.id);
  const moment = (at: Date) => html`<time datetime="${at.toISOString()}">${formats.moment(at)}</time>`;
  const body = html`
${notice(url.searchParams.get('done') === 'removed' ? messages.memberRemoved : null)}
<h1>${messages.members}</h1>
<p class="lead">${messages.membersLead} ${contactLink(context)} ${messages.timesUtc}</p>
<div class="card list">
<table class="stacked">
  <thead><tr><th scope="col">${messages.email}</th><th scope="col">${messages.name}</th><th scope="col">${messages.memberSince}</th><th scope="col">${messages.lastSignIn}</th><th scope="col"><span class="unseen">${messages.change}</span></th></tr></thead>
  <tbody>${members.map(
    (member) => html`
    <tr>
      <th scope="row">${member.email} ${member.id === user.id && html`<span class="badge">${messages.byYou}</span>`}</th>
      <td data-label="${messages.name}">${member.name}</td>
      <td data-label="${messages.memberSince}">${moment(member.since)}</td>
      <td data-label="${messages.lastSignIn}">${member.lastSignIn === null ? '–' : moment(member.lastSignIn)}</td>
      <td class="end">${members.length > 1 && html`<a class="button small quiet-bad" href="${tools.base}/settings/members/${member.id}/remove" aria-label="${messages.removeMember}: ${member.email}">${messages.removeMember}</a>`}</td>
    </tr>`,
  )}
  </tbody>
</table>
</div>`;
  return memberPage(context, { section: '/settings', title: messages.members, body });
}

/** GET /dashboard/settings/members/:id/remove */
export async function askRemoveMember(context: MemberContext): Promise<PageResponse> {
  return removePage(context, null);
}

/** POST /dashboard/settings/members/:id/remove: asks for the password of the member who removes. */
export async function removeOther(context: MemberContext): Promise<PageResponse> {
  const { tools, messages, id, account, user } = context;
  const outcome = await checkPassword(context, presentPassword(context));
  if (!outcome.isRight) {
    const wrong = {
      message: messages.wrongPassword,
      status: 422,
      faults: { present: messages.wrongPassword },
    };
    return removePage(context, tooMany(context, outcome) ?? wrong);
  }
  const removed = await removeMember(tools.sql, account.id, (member) => member.id === id, actorOf(user));
  if (removed === 'last') return removePage(context, { message: messages.lastMember, status: 409 });
  if (removed !== null) logSecurity(context, 'member removed', { userId: removed.id, accountId: account.id });
  return redirectTo(
    context,
    removed?.id === user.id ? '/sign-in?done=out' : '/settings/members?done=removed',
  );
}

async function removePage(context: MemberContext, refusal: Refusal | null): Promise<PageResponse> {
  const { messages, tools, id, account } = context;
  const member = (await listMembers(tools.sql, account.id)).find((member) => member.id === id);
  if (member === undefined) return messagePage(context, 404, messages.notFound, messages.notFoundLead);
  const body = html`
<section class="card sheet confirm">
  <h1>${messages.removeTitle}</h1>
  <p><strong class="email">${member.email}</strong></p>
  <p>${messages.removeLead}</p>
  ${refusalAlert(refusal)}
  <form method="post" action="${tools.base}/settings/members/${member.id}/remove">
    ${token(context)}
    ${presentPasswordField(context, stateOf(refusal, 'present', 'present'))}
    <div class="actions">
      <button class="bad" type="submit">${messages.removeButton}</button>
      <a class="button quiet" href="${tools.base}/settings/members">${messages.cancel}</a>
    </div>
  </form>
</section>`;
  return memberPage(context, { section: '/settings', title: messages.removeMember, body, ...refusal });
}
