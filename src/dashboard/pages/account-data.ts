import { deleteAccount } from '../../account-data/delete.ts';
import { exportAccount } from '../../account-data/export.ts';
import { type HistoryEntry, loadHistory } from '../../account-data/history.ts';
import { actorOf, listMembers } from '../auth/members.ts';
import { logSecurity } from '../auth/security-log.ts';
import { checkPassword } from '../auth/sign-in.ts';
import { type MemberContext, type PageResponse, redirectTo } from '../request/page-context.ts';
import { type Html, html } from '../ui/html.ts';
import { alert, field, memberPage, token } from '../ui/layout.ts';
import { presentPassword, presentPasswordField, type Refusal, tooMany } from './entry.ts';

/** Rows of the history on its page, the latest first. All are in the export. */
const SHOWN = 200;

/** The part of the settings that leads to the pages below. */
export function accountData({ messages, tools }: MemberContext): Html {
  return html`
<section class="card narrow" aria-labelledby="data-title">
  <h2 id="data-title">${messages.dataTitle}</h2>
  <p><a href="${tools.base}/settings/history">${messages.accountHistory}</a></p>
  <p><a href="${tools.base}/settings/account.json" download>${messages.exportAccount}</a></p>
  <p><a href="${tools.base}/settings/delete">${messages.deleteAccount}</a></p>
</section>`;
}

/** GET /dashboard/settings/history: what changed the account, the latest first. */
export async function showHistory(context: MemberContext): Promise<PageResponse> {
  const { messages, tools, formats, account, user } = context;
  const entries = (await loadHistory(tools.sql, account.id, SHOWN)).toReversed();
  const members = await listMembers(tools.sql, account.id);
  const emails = new Map(members.map((member) => [actorOf(member), member.email]));
  const by = (actor: string) => {
    if (actor === actorOf(user)) return messages.byYou;
    return isMember(actor) ? (emails.get(actor) ?? messages.byMember) : messages.byOperator;
  };
  const what = ({ key, keyName, credits, note }: HistoryEntry) =>
    [key && `${keyName ?? messages.unnamed} (${key})`, credits && `+${formats.number(credits)}`, note]
      .filter(Boolean)
      .join(' · ');
  const body = html`
<h1>${messages.accountHistory}</h1>
<div class="card list">
<table class="stacked">
  <thead><tr><th scope="col">${messages.dateUtc}</th><th scope="col">${messages.event}</th><th scope="col">${messages.by}</th><th scope="col">${messages.note}</th></tr></thead>
  <tbody>${entries.map(
    (entry) => html`
    <tr>
      <th scope="row"><time datetime="${entry.at.toISOString()}">${formats.moment(entry.at)}</time></th>
      <td data-label="${messages.event}">${messages.events[entry.kind]}</td>
      <td data-label="${messages.by}">${by(entry.actor)}</td>
      <td class="optional" data-label="${messages.note}">${what(entry)}</td>
    </tr>`,
  )}
  </tbody>
</table>
</div>`;
  return memberPage(context, { section: '/settings', title: messages.accountHistory, body });
}

/** GET /dashboard/settings/account.json: everything that is stored about the account. Operators have no name in it. */
export async function downloadAccount({ tools, account }: MemberContext): Promise<PageResponse> {
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
export async function askDelete(context: MemberContext): Promise<PageResponse> {
  return deletePage(context, null);
}

/** POST /dashboard/settings/delete: asks for the account's name and the member's password. */
export async function deleteOwnAccount(context: MemberContext): Promise<PageResponse> {
  const { tools, messages, fields, account, user } = context;
  if (fields('name').trim() !== account.name.trim()) {
    return deletePage(context, { message: messages.wrongAccountName, status: 422 });
  }
  const outcome = await checkPassword(context, presentPassword(context));
  if (!outcome.isRight) {
    return deletePage(context, tooMany(context, outcome) ?? { message: messages.wrongPassword, status: 422 });
  }
  await deleteAccount(tools.sql, account.id, actorOf(user));
  logSecurity(context, 'account deleted', { userId: user.id, accountId: account.id });
  return redirectTo(context, '/sign-in?done=deleted');
}

async function deletePage(context: MemberContext, refusal: Refusal | null): Promise<PageResponse> {
  const { messages, tools, account } = context;
  const body = html`
<section class="card sheet confirm">
  <h1>${messages.deleteTitle(account.name)}</h1>
  <p>${messages.deleteLead}</p>
  ${alert(refusal?.message ?? null)}
  <form method="post" action="${tools.base}/settings/delete">
    ${token(context)}
    ${field({ name: 'name', label: messages.deleteName, hint: account.name, autocomplete: 'off' })}
    ${presentPasswordField(context)}
    <div class="actions">
      <button class="bad" type="submit">${messages.deleteButton}</button>
      <a class="button quiet" href="${tools.base}/settings">${messages.cancel}</a>
    </div>
  </form>
</section>`;
  return memberPage(context, { section: '/settings', title: messages.deleteAccount, body, ...refusal });
}
