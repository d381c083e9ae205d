import { MCP_PATH } from '../../http/api-route.ts';
import type { Right } from '../../http/right.ts';
import type { MemberContext } from '../page-context.ts';
import { codeSamples, EXAMPLE_QUERY } from '../reference/code-samples.ts';
import { type Html, html } from '../ui/html.ts';
import { copyable } from '../ui/parts.ts';

/** A secret that is shown once. */
export interface NewSecret {
  /** Of its key. */
  id: string;
  /** The rights of the key; `null` means all. */
  only: Right[] | null;
  secret: string;
  /** The instant until which the replaced secret works; `null` if there is none. */
  previousUntil: Date | null;
}

/** The card with a new secret, and what to do with it. */
export function newSecretCard(context: MemberContext, { id, secret, previousUntil, only }: NewSecret): Html {
  const { messages, tools, formats } = context;
  // Every key may ask for itself.
  const canSearch = only === null || only.includes('search');
  const address = `${tools.publicUrl}/api/v1/${canSearch ? `companies?q=${EXAMPLE_QUERY}` : 'key'}`;
  return html`
<section class="card new-key" role="status" tabindex="-1" autofocus data-forget-form>
  <h2>${messages.newKey}</h2>
  <p>${messages.newKeyLead}</p>
  ${previousUntil !== null && html`<p>${messages.previousUntil(formats.instant(previousUntil))}</p>`}
  ${copyable(messages, { id: 'new-secret', label: messages.newKey, text: secret })}
  <p class="hint">${messages.lostSecret} <a href="${tools.base}/keys/${id}/rotate">${messages.rotate}</a></p>
  <p>${messages.newKeyTry}</p>
  ${copyable(messages, { id: 'new-export', label: messages.newKeyTry, text: `export API_KEY='${secret}'` })}
  ${codeSamples(messages, { id: 'new', method: 'GET', address })}
  ${connectAgent(context)}
</section>`;
}

function connectAgent({ messages, tools }: MemberContext): Html {
  const address = tools.publicUrl + MCP_PATH;
  const command = `claude mcp add --transport http company-directory ${address} \\\n  --header 'Authorization: Bearer svc_…'`;
  return html`
<details>
  <summary id="agent-title">${messages.connectAgent}</summary>
  <p>${messages.connectAgentLead}</p>
  <p>${messages.agentAddress}</p>
  ${copyable(messages, { id: 'agent-address', label: messages.agentAddress, text: address })}
  <p>${messages.agentCommand}</p>
  ${copyable(messages, { id: 'agent-command', label: messages.agentCommand, text: command })}
</details>`;
}
