import type { Visit } from '../context.ts';
import { type HtmlValue, html } from '../ui/html.ts';
import { TOKEN_FIELD } from './csrf.ts';
import { canBeSentAgain, pathBelow, resentFields } from './return-path.ts';

/**
 * The way to send a request again: its form with what was typed, or a link to its page. A form that was not read is sent again by a
 * reload. A form that is none of those that can be sent again has no way, as one with a password.
 *
 * @param token of the form; by default the one that it was sent with, which is checked as ever
 */
export function retry({ messages, tools, url, request, path, form }: Visit, token?: string): HtmlValue {
  if (request.method !== 'POST') {
    // The empty address is that of the page itself.
    const address = url === undefined ? '' : `${tools.base}${pathBelow(url)}${url.search}`;
    return html`<p><a class="button" href="${address}">${messages.retry}</a></p>`;
  }
  if (!canBeSentAgain(path)) return null;
  const fields = resentFields(path, form);
  if (fields === null) return html`<p>${messages.reloadToSend}</p>`;
  return html`
<form method="post" action="${tools.base}${path}" id="retry">
  <input type="hidden" name="${TOKEN_FIELD}" value="${token ?? form?.get(TOKEN_FIELD)}">
  ${fields.map(([name, value]) => (name === 'list' ? keptList(messages.ownList, value) : html`<input type="hidden" name="${name}" value="${value}">`))}
  <div class="actions"><button type="submit">${messages.retry}</button></div>
</form>`;
}

/** A list that was sent. dashboard.js puts one with `isKept` into the field of its page after a sign-in in this tab. */
export function keptList(label: string, list: string, isKept = false): HtmlValue {
  return html`
<div class="field">
  <label for="list">${label}</label>
  <textarea id="list" name="list" rows="6" spellcheck="false"${isKept && html` readonly data-keep`}>${list}</textarea>
</div>`;
}
