import { deleteAccount } from '../../metering/account-data/delete.ts';
import { exportAccount } from '../../metering/account-data/export.ts';
import { type HistoryEntry, loadHistory } from '../../metering/account-data/history.ts';
import { MINUTE } from '../../platform/units.ts';
import { actorNames } from '../auth/actors.ts';
import { admit, downloadsOf } from '../auth/limits.ts';
import { actorOf } from '../auth/members.ts';
import { logOfMember } from '../auth/security-log.ts';
import { presentRefusal } from '../auth/sign-in.ts';
import type { MemberContext } from '../page-context.ts';
import { type PageResponse, redirectTo } from '../request/context.ts';
import { formHandlers, presentPassword, refusalOf, tooMany } from '../request/forms.ts';
import { formPage, memberPage, messagePage, ownersOnly } from '../request/layout.ts';
import { html } from '../ui/html.ts';
import { type Column, moment, table } from '../ui/parts.ts';
import { pageOfRows, rowsNeeded } from '../usage/paging.ts';

/** GET /dashboard/settings/history: the events of the account, the latest first. */
export async function showHistory(context: MemberContext): Promise<PageResponse> {
  const { messages, tools, formats, account, url } = context;
  const latest = (await loadHistory(tools.sql, account.id, rowsNeeded(url))).toReversed();
  const { rows, links } = pageOfRows(context, latest);
  const by = await actorNames(context);
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
<div class="card list">${table(columns, rows)}</div>
${links}`;
  return memberPage(context, { title: messages.accountHistory, body });
}

/** A download holds a connection to Postgres, so its reader may not take as long as it likes. */
const DOWNLOAD_TIMEOUT_MS = 1 * MINUTE;
/** After each part. Without it, two large downloads take most of the event loop, which the API shares. */
const PAUSE_MS = 4;

/** GET /dashboard/settings/account.json: everything that is stored about the account. Operators have no name in it, and other members no sessions. */
export async function downloadAccount(context: MemberContext): Promise<PageResponse> {
  const { messages, tools, user } = context;
  const leave = await tools.downloads.enter(user.id);
  let sending = Promise.resolve();
  try {
    const early = tooMany(context, await admit(tools.sql, downloadsOf(user)));
    if (early !== null)
      return messagePage(context, 429, messages.tooManyRequests, early.message!, early.headers);
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    sending = sendAccount(context, writable.getWriter());
    return {
      file: readable,
      type: 'application/json; charset=utf-8',
      headers: { 'Content-Disposition': 'attachment; filename="account.json"' },
    };
  } finally {
    void sending.finally(leave);
  }
}

/** Sends the data as fast as its reader takes it. It never fails: the reader of a cut-off download sees that its end is missing. */
async function sendAccount(
  { tools, account, user, trace }: MemberContext,
  body: WritableStreamDefaultWriter<Uint8Array>,
): Promise<void> {
  const cutOff = AbortSignal.any([tools.stopping, AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS)]);
  const abort = (reason: unknown) => void body.abort(reason).catch(() => {});
  cutOff.addEventListener('abort', () => abort(cutOff.reason), { once: true });
  const encoder = new TextEncoder();
  const write = async (part: string) => {
    await body.write(encoder.encode(part));
    await Bun.sleep(PAUSE_MS);
  };
  try {
    await exportAccount(tools.sql, account.id, write, { reader: user.id });
    await body.close();
  } catch (error) {
    abort(error);
    tools.log.warn({ err: error, requestId: trace.requestId }, 'a download of account data was cut off');
  }
}

/** /dashboard/settings/delete: asks for the account's name and the member's password. */
export const deletion = formHandlers({
  async show(context: MemberContext, refusal) {
    const { messages, account, user } = context;
    if (context.role !== 'owner') return ownersOnly(context);
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
    const { tools, messages, sent, account, user } = context;
    if (context.role !== 'owner') return ownersOnly(context);
    const isNamed = sent('name').trim() === account.name.trim();
    const refusal =
      refusalOf({ name: !isNamed && messages.wrongAccountName }) ?? (await presentRefusal(context));
    if (refusal !== null) return refusal;
    await deleteAccount(tools.sql, account.id, actorOf(user));
    logOfMember(context, 'account deleted');
    return redirectTo(context, '/sign-in?done=deleted');
  },
});
