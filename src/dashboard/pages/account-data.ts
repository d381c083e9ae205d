import { deleteAccount } from '../../account-data/delete.ts';
import { exportAccount } from '../../account-data/export.ts';
import { type HistoryEntry, loadHistory } from '../../account-data/history.ts';
import { actorOf, listMembers } from '../auth/members.ts';
import { logSecurity } from '../auth/security-log.ts';
import { type MemberContext, type PageResponse, redirectTo } from '../request/page-context.ts';
import { formHandlers, presentPassword, presentRefusal, refusalOf } from '../ui/forms.ts';
import { html } from '../ui/html.ts';
import { formPage, memberPage } from '../ui/layout.ts';
import { type Column, moment, table } from '../ui/parts.ts';

/** Rows of the history on its page, the latest first. All are in the export. */
const SHOWN = 200;

/** GET /dashboard/settings/history: the events of the account, the latest first. */
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
  const columns: Column<HistoryEntry>[] = [
    [messages.dateUtc, ({ at }) => moment(formats, at)],
    [messages.event, ({ kind }) => messages.events[kind]],
    [messages.by, ({ actor }) => by(actor)],
    [messages.note, what],
  ];
  const body = html`
<h1>${messages.accountHistory}</h1>
<div class="card list">${table(columns, entries)}</div>`;
  return memberPage(context, { title: messages.accountHistory, body });
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

/** /dashboard/settings/delete: asks for the account's name and the member's password. */
export const deletion = formHandlers({
  show(context: MemberContext, refusal) {
    const { messages, account, user } = context;
    return formPage(context, {
      title: messages.deleteTitle(account.name),
      lead: html`<p>${messages.deleteLead}</p>`,
      username: user.email,
      fields: [{ name: 'name', label: messages.deleteName, hint: account.name }, presentPassword(messages)],
      focus: false,
      button: messages.deleteAccount,
      look: 'bad',
      cancel: '/settings',
      refusal,
    });
  },
  async submit(context) {
    const { tools, messages, fields, account, user } = context;
    const isNamed = fields('name').trim() === account.name.trim();
    const refusal =
      refusalOf({ name: !isNamed && messages.wrongAccountName }) ?? (await presentRefusal(context));
    if (refusal !== null) return refusal;
    await deleteAccount(tools.sql, account.id, actorOf(user));
    logSecurity(context, 'account deleted', { userId: user.id, accountId: account.id });
    return redirectTo(context, '/sign-in?done=deleted');
  },
});
