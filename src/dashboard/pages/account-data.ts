import { deleteAccount } from '../../account-data/delete.ts';
import { exportAccount } from '../../account-data/export.ts';
import { type HistoryEntry, loadHistory } from '../../account-data/history.ts';
import { actorOf, listMembers } from '../auth/members.ts';
import { logSecurity } from '../auth/security-log.ts';
import { checkPassword } from '../auth/sign-in.ts';
import { type MemberVisit, type Reply, redirectTo } from '../request/visit.ts';
import { type Html, html } from '../ui/html.ts';
import { alert, field, memberPage, token } from '../ui/layout.ts';
import { presentPassword, presentPasswordField, type Refusal, tooMany } from './entry.ts';

/** Rows of the history on its page, the latest first. All are in the export. */
const SHOWN = 200;

/** The part of the settings that leads to the pages below. */
export function accountData({ texts, tools }: MemberVisit): Html {
  return html`
<section class="card narrow" aria-labelledby="data-title">
  <h2 id="data-title">${texts.dataTitle}</h2>
  <p><a href="${tools.base}/settings/history">${texts.accountHistory}</a></p>
  <p><a href="${tools.base}/settings/account.json" download>${texts.exportAccount}</a></p>
  <p><a href="${tools.base}/settings/delete">${texts.deleteAccount}</a></p>
</section>`;
}

/** GET /dashboard/settings/history: what changed the account, the latest first. */
export async function showHistory(visit: MemberVisit): Promise<Reply> {
  const { texts, tools, formats, account, user } = visit;
  const entries = (await loadHistory(tools.sql, account.id, SHOWN)).toReversed();
  const members = await listMembers(tools.sql, account.id);
  const emails = new Map(members.map((member) => [actorOf(member), member.email]));
  const by = (actor: string) => {
    if (actor === actorOf(user)) return texts.byYou;
    return isMember(actor) ? (emails.get(actor) ?? texts.byMember) : texts.byOperator;
  };
  const what = ({ key, keyName, credits, note }: HistoryEntry) =>
    [key && `${keyName ?? texts.unnamed} (${key})`, credits && `+${formats.number(credits)}`, note]
      .filter(Boolean)
      .join(' · ');
  const body = html`
<h1>${texts.accountHistory}</h1>
<div class="card list">
<table class="stacked">
  <thead><tr><th scope="col">${texts.dateUtc}</th><th scope="col">${texts.event}</th><th scope="col">${texts.by}</th><th scope="col">${texts.note}</th></tr></thead>
  <tbody>${entries.map(
    (entry) => html`
    <tr>
      <th scope="row"><time datetime="${entry.at.toISOString()}">${formats.moment(entry.at)}</time></th>
      <td data-label="${texts.event}">${texts.events[entry.kind]}</td>
      <td data-label="${texts.by}">${by(entry.actor)}</td>
      <td class="optional" data-label="${texts.note}">${what(entry)}</td>
    </tr>`,
  )}
  </tbody>
</table>
</div>`;
  return memberPage(visit, { section: '/settings', title: texts.accountHistory, body });
}

/** GET /dashboard/settings/account.json: everything that is stored about the account. Operators have no name in it. */
export async function downloadAccount({ tools, account }: MemberVisit): Promise<Reply> {
  const stored = await exportAccount(tools.sql, account.id);
  const anonymous = <T extends { actor?: string }>(row: T) => ({
    ...row,
    actor: isMember(row.actor ?? '') ? row.actor : 'operator',
  });
  const file = JSON.stringify(
    {
      ...stored,
      invitations: stored.invitations.map(anonymous),
      history: stored.history.map(anonymous),
    },
    null,
    2,
  );
  return {
    file,
    type: 'application/json; charset=utf-8',
    headers: { 'Content-Disposition': 'attachment; filename="account.json"' },
  };
}

const isMember = (actor: string) => actor.startsWith('dashboard:');

/** GET /dashboard/settings/delete */
export async function askDelete(visit: MemberVisit): Promise<Reply> {
  return deletePage(visit, null);
}

/** POST /dashboard/settings/delete: asks for the account's name and the member's password. */
export async function deleteOwnAccount(visit: MemberVisit): Promise<Reply> {
  const { tools, texts, fields, account, user } = visit;
  if (fields('name').trim() !== account.name.trim()) {
    return deletePage(visit, { message: texts.wrongAccountName, status: 422 });
  }
  const outcome = await checkPassword(visit, presentPassword(visit));
  if (!outcome.isRight) {
    return deletePage(visit, tooMany(visit, outcome) ?? { message: texts.wrongPassword, status: 422 });
  }
  await deleteAccount(tools.sql, account.id, actorOf(user));
  logSecurity(visit, 'account deleted', { userId: user.id, accountId: account.id });
  return redirectTo(visit, '/sign-in?done=deleted');
}

async function deletePage(visit: MemberVisit, refusal: Refusal | null): Promise<Reply> {
  const { texts, tools, account } = visit;
  const body = html`
<section class="card sheet confirm">
  <h1>${texts.deleteTitle(account.name)}</h1>
  <p>${texts.deleteLead}</p>
  ${alert(refusal?.message ?? null)}
  <form method="post" action="${tools.base}/settings/delete">
    ${token(visit)}
    ${field({ name: 'name', label: texts.deleteName, hint: account.name, autocomplete: 'off' })}
    ${presentPasswordField(visit)}
    <div class="actions">
      <button class="bad" type="submit">${texts.deleteButton}</button>
      <a class="button quiet" href="${tools.base}/settings">${texts.cancel}</a>
    </div>
  </form>
</section>`;
  return memberPage(visit, { section: '/settings', title: texts.deleteAccount, body, ...refusal });
}
