import type { PageContext, Tools } from '../request/page-context.ts';
import { type HtmlValue, html } from './html.ts';

/** How the operator is reached: after a text that says to ask them. Nothing when it isn't configured. */
export function contactLink({
  messages,
  tools,
}: Pick<PageContext, 'messages'> & { tools: Pick<Tools, 'config'> }): HtmlValue {
  const { contact } = tools.config;
  if (contact === null) return null;
  const address = /^mailto:([^?]+)/i.exec(contact)?.[1];
  return html`<a href="${contact}">${address === undefined ? messages.contact : decodeURIComponent(address)}</a>`;
}
