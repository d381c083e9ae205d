import { memberOf } from '../auth/members.ts';
import type { PageContext } from '../context.ts';
import { contactLink, type HtmlValue, html, moment, sentence } from '../ui/html.ts';
import { filled } from '../ui/states.ts';

/**
 * The suspension of the account whose member has signed in with this browser last, because it has ended their session; `null` without
 * one. For the pages to which an ended session leads.
 */
export async function suspensionOfBrowser(context: PageContext): Promise<HtmlValue> {
  const { tools, client } = context;
  const member = client.knownUser && (await memberOf(tools.sql, client.knownUser));
  const text = member && (await suspensionText(context, member.accountId));
  return text && html`<p class="notice bad" role="status"><span>${text}</span></p>`;
}

/** The suspension of an account, with its reason; `null` if it is not suspended. */
export async function suspensionText(context: PageContext, accountId: string): Promise<HtmlValue> {
  const { messages, tools, formats } = context;
  const [row] = await tools.sql<{ at: Date; note: string | null }[]>`
    SELECT suspended_at AS at, (SELECT note FROM account_events WHERE account_id = accounts.id AND kind = 'suspended'
      ORDER BY account_events.id DESC LIMIT 1) AS note
    FROM accounts WHERE id = ${accountId} AND suspended_at IS NOT NULL`;
  if (row === undefined) return null;
  const text = sentence((at) => filled(messages.states.suspended, [at]), moment(formats, row.at));
  const contact = contactLink(context);
  return [text, ' ', row.note && messages.suspendedReason(row.note), contact && html` · ${contact}`];
}
