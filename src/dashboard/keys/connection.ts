/** Connections among keys: the list of an account's, and what only they have on their page. */
import { takesConnections } from '../../mcp/resource.ts';
import { clientHost } from '../../metering/connections/clients.ts';
import { findConnection } from '../../metering/connections/store.ts';
import type { ListedKey } from '../../metering/keys/list.ts';
import { actorNames } from '../auth/actors.ts';
import type { MemberContext } from '../context.ts';
import { type HtmlValue, html } from '../ui/html.ts';
import { type Column, dateOf, type Fact, table } from '../ui/parts.ts';
import { type KeyCounts, NO_COUNTS } from './key-counts.ts';
import { budgetLeft } from './key-limits.ts';
import { keyName, lastUse } from './key-parts.ts';

/** The agents that members have connected; nothing where none can connect. */
export function connectionsCard(
  context: MemberContext,
  connections: ListedKey[],
  counts: Map<string, KeyCounts>,
): HtmlValue {
  const { messages, tools, formats } = context;
  if (!takesConnections(tools.publicUrl)) return null;
  const of = ({ id }: ListedKey) => counts.get(id) ?? NO_COUNTS;
  const columns: Column<ListedKey>[] = [
    [messages.name, (key) => html`<a href="${tools.base}/keys/${key.id}">${keyName(key, messages)}</a>`],
    [messages.connectedOn, ({ created }) => dateOf(formats, created)],
    [messages.lastUsed, (key) => lastUse(context, key, of(key))],
    [messages.creditsOfWeek, (key) => formats.number(of(key).credits), 'amount'],
    [messages.keyBudget, (key) => budgetLeft(context, key)],
  ];
  return html`
<section class="card" aria-labelledby="connections-title">
  <h2 id="connections-title">${messages.connections}</h2>
  <p>${messages.connectionsLead} <code>${tools.publicUrl}/mcp</code></p>
  ${connections.length > 0 && html`<div class="list">${table(columns, connections, 'keys')}</div>`}
</section>`;
}

/** To whom a connection was given, and by whom. */
export async function connectionFacts(context: MemberContext): Promise<Fact[]> {
  const { messages, tools, id } = context;
  const [connection, nameOf] = await Promise.all([findConnection(tools.sql, id), actorNames(context)]);
  if (connection === null) return [];
  const { clientId, clientName, redirectUri, memberId } = connection;
  return [
    [messages.client, clientHost(clientId) ?? messages.clientUnknown],
    [messages.clientCalls, clientName === '' ? '–' : clientName],
    [messages.clientSendsTo, new URL(redirectUri).host],
    [messages.connectedBy, nameOf(`dashboard:${memberId}`)],
  ];
}
