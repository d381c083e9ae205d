import { type HistoryEntry, loadHistory } from '../../metering/account-data/history.ts';
import type { AccountDetails } from '../../metering/accounts/account-store.ts';
import type { Plan } from '../../metering/accounts/plan.ts';
import { deleteAccount, exportAccount } from '../account-data/wings.ts';
import { memberForm } from '../auth/form-page.ts';
import { downloadsOf } from '../auth/limits.ts';
import { MAILS } from '../auth/mail-text.ts';
import { type AccountMember, actorNames, actorOf, listMembers, logOfMember } from '../auth/members.ts';
import type { MemberContext, PageResponse } from '../context.ts';
import { redirectTo } from '../request/forms.ts';
import { memberPage } from '../request/layout.ts';
import { type Column, html, moment, table } from '../ui/html.ts';
import { download } from '../usage/download.ts';
import { pageOfRows } from '../usage/paging.ts';

/** GET /dashboard/settings/history: the events of the account, the latest first. */
export async function showHistory(context: MemberContext): Promise<PageResponse> {
  const { messages, tools, formats, account } = context;
  const { rows, links } = await pageOfRows(context, (slice) => loadHistory(tools.sql, account.id, slice));
  const by = await actorNames(context);
  const what = ({ key, keyName, credits, note, detail }: HistoryEntry) =>
    [
      key && html`<a href="${tools.base}/keys/${key}">${keyName ?? messages.unnamed}</a>`,
      detail?.plan && messages.plans[detail.plan as Plan],
      credits && formats.signed(credits),
      note,
    ]
      .filter(Boolean)
      .map((part, index) => html`${index > 0 && ' · '}${part}`);
  const columns: Column<HistoryEntry>[] = [
    [messages.dateUtc, ({ at }) => moment(formats, at)],
    [messages.event, ({ kind }) => messages.events[kind]],
    [messages.by, ({ actor }) => by(actor)],
    [messages.note, what],
  ];
  const body = html`
<h1>${messages.accountHistory}</h1>
<div class="card list">${table(columns, rows)}</div>
${links}`;
  return memberPage(context, { title: messages.accountHistory, body });
}

/** GET /dashboard/settings/account.json: everything that is stored about the account. Operators have no name in it, and other members no sessions. */
export function downloadAccount(context: MemberContext): Promise<PageResponse> {
  const { tools, account, user } = context;
  const file = { name: 'account.json', type: 'application/json; charset=utf-8', limit: downloadsOf(user) };
  return download(context, file, (write) => exportAccount(tools.sql, account.id, write, { reader: user.id }));
}

/** /dashboard/settings/delete: asks for the account's name and the member's password. */
export const deletion = memberForm({
  password: true,
  page: ({ messages, tools, formats, account }: MemberContext) => ({
    title: messages.deleteTitle(account.name),
    lead: html`
<p>${messages.deleteLead} <a href="${tools.base}/settings/account.json">${messages.exportAccount}</a></p>
<p class="notice bad">${messages.deleteCredits(formats.number(lostCredits(account)), formats.number(account.credits))}</p>`,
    fields: [{ name: 'name', label: messages.deleteName, hint: account.name }],
    button: messages.deleteAccount,
    look: 'bad',
    cancel: '/settings',
  }),
  faults: ({ sent, account, messages }) => ({
    name: sent('name').trim() !== account.name.trim() && messages.wrongAccountName,
  }),
  async submit(context) {
    const { tools, account, user } = context;
    const members = await listMembers(tools.sql, account.id);
    await deleteAccount(tools.sql, account.id, actorOf(user));
    void tellOfDeletion(context, members);
    logOfMember(context, 'account deleted');
    return redirectTo(context, '/sign-in?done=deleted');
  },
});

/** The rest of the allowance and of the purchased credits, also if the account does not spend them. */
const lostCredits = ({ includedCredits, used, credits }: AccountDetails) =>
  Math.max(0, includedCredits - used) + credits;

/** Mails the confirmed members of a deleted account, one after another, because the relay may take few connections. */
async function tellOfDeletion(
  { tools, user, account: { name, suspended } }: MemberContext,
  members: AccountMember[],
): Promise<void> {
  const mail = MAILS.deleted({ by: user.email });
  for (const { email: to, language, emailVerified } of members)
    if (emailVerified)
      await tools.mailer?.send(mail, { to, language, account: { name, isSuspended: suspended } });
}
