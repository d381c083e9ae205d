import { keepsPurchased } from '../../metering/accounts/account-store.ts';
import { buyAddress } from '../../metering/accounts/buy-address.ts';
import { utcDay } from '../../platform/dates.ts';
import { DAY } from '../../platform/units.ts';
import type { LayoutContext, MemberContext } from '../context.ts';
import type { Messages } from '../messages.ts';
import type { Formats } from './language.ts';

/** Markup that is safe to send: made by {@link html}, which escapes everything that is put into it. */
export interface Html {
  readonly markup: string;
}

/** A value in a template. `false`, `null` and `undefined` are empty; a list is its members one after another. */
export type HtmlValue = Html | string | number | false | null | undefined | HtmlValue[];

/**
 * A tagged template for HTML: text is escaped, for content and quoted attributes alike, unless it is itself made by
 * this tag. Attributes must be quoted.
 */
export function html(strings: TemplateStringsArray, ...values: HtmlValue[]): Html {
  let markup = strings[0]!;
  for (const [index, value] of values.entries()) markup += render(value) + strings[index + 1]!;
  return { markup };
}

function render(value: HtmlValue): string {
  if (value === false || value === null || value === undefined) return '';
  if (typeof value === 'string') return Bun.escapeHTML(value);
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) return value.map(render).join('');
  return value.markup;
}

/** The operator's CONTACT as text: of a `mailto:` the address alone. */
export function contactText(contact: string | null): string | null {
  const address = /^mailto:([^?]+)/i.exec(contact ?? '')?.[1];
  return address === undefined ? contact : decodeURIComponent(address);
}

/** The link to the operator, after a text that says to ask them. Nothing if CONTACT is not set. */
export function contactLink({ messages, tools }: LayoutContext): HtmlValue {
  const { contact } = tools.config;
  const text = contactText(contact);
  return contact !== null && html`<a href="${contact}">${text === contact ? messages.contact : text}</a>`;
}

/** A way to a remedy, and the link to the operator behind it. */
export function withContact(context: LayoutContext, remedy: Html): Html {
  const contact = contactLink(context);
  return html`${remedy}${contact && html` · ${contact}`}`;
}

/** The link to the address where the account buys credits; `null` if BUY_URL is not set. @param look of the style sheet */
export function buyLink({ messages, tools, account }: MemberContext, look = 'buy'): Html | null {
  const address = buyAddress(tools.config.buyUrl, account.id);
  return address === null ? null : html`<a class="${look}" href="${address}">${messages.buyCredits}</a>`;
}

/**
 * The remedy if credits do not suffice: the switch if the account has purchased ones that it does not spend, else to buy some.
 * Without BUY_URL the page of credits says how to get them.
 */
export function moreCredits(context: MemberContext): Html {
  const { messages, tools, account } = context;
  if (keepsPurchased(account)) return html`<a href="${tools.base}/credits/spending">${messages.spending}</a>`;
  return buyLink(context) ?? html`<a href="${tools.base}/credits">${messages.getMore}</a>`;
}

/** The prices of Plus and of further credits, of those that the operator has set. */
export function pricesOf({ messages, tools }: LayoutContext, hasPlus = false): string {
  const { plusPrice, creditsPrice } = tools.config;
  return [
    !hasPlus && plusPrice !== null && `${messages.plans.plus}: ${plusPrice[messages.language]}`,
    creditsPrice !== null && `${messages.credits}: ${creditsPrice[messages.language]}`,
  ]
    .filter(Boolean)
    .join(' · ');
}

/** Text with a button that copies it, which dashboard.js shows. @param text.sample the language of an example */
export function copyable(
  messages: Messages,
  { id, label, text, sample }: { id: string; label: string; text: string; sample?: string },
): Html {
  return html`
<div class="copyable"${sample !== undefined && html` data-sample="${sample}"`}>
  <pre id="${id}" tabindex="0" role="group" aria-label="${label}">${text}</pre>
  <button class="small quiet" type="button" data-copy="${id}" data-copied="${messages.copied}" aria-label="${messages.copy}: ${label}" hidden>${messages.copy}</button>
</div>`;
}

/** `21 Nov 2026, 10:00` */
export function moment(formats: Formats, at: Date): Html {
  return html`<time datetime="${at.toISOString()}">${formats.moment(at)}</time>`;
}

/** `21 Nov 2026` @param at a day in UTC as YYYY-MM-DD, or an instant of it */
export function dateOf(formats: Formats, at: string | Date): Html {
  const day = typeof at === 'string' ? at : utcDay(at);
  return html`<time datetime="${day}">${formats.date(new Date(at))}</time>`;
}

/** A square before the label of a series, in its colour of the style sheet. */
export const dot = (series: number | string): Html =>
  html`<svg class="dot" aria-hidden="true"><rect width="100%" height="100%" fill="var(--series-${series})"/></svg>`;

export type Fact = [label: string, value: HtmlValue];

/** Labelled values, one below the other. @param look a further class of the style sheet */
export function facts(values: Fact[], look = ''): Html {
  return html`
<dl class="facts ${look}">${values.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** A text with an element in the place of its value. */
export function sentence(text: (value: string) => string, element: HtmlValue): HtmlValue {
  const [before, after] = text('\n').split('\n');
  return [before, element, after];
}

/** The end of something as its reader counts it: `24 Nov 2026` for the midnight after that day, else `24 Nov 2026, 10:00`. */
export function endOf(formats: Formats, end: Date): Html {
  if (end.getTime() % DAY !== 0) return moment(formats, end);
  const lastInstant = new Date(end.getTime() - 1);
  return html`<time datetime="${end.toISOString()}">${formats.date(lastInstant)}</time>`;
}

/** A word that may be broken, because a column can't be as wide. */
const LONG_WORD = /\S{25}/;

/** `amount`: a number. `end`: buttons, with a heading for screen readers only. */
export type Column<Row> = [heading: string, cell: (row: Row) => HtmlValue, look?: 'amount' | 'end'];

/** A table that is a list of labelled values on a phone. The first column names the row. @param look a class of the style sheet */
export function table<Row>(columns: Column<Row>[], rows: Row[], look = ''): Html {
  const cell = (row: Row, [heading, content, look]: Column<Row>, index: number) => {
    const inside = html`${content(row)}`;
    const hasLongWord = LONG_WORD.test(inside.markup.replace(/<[^>]*>/g, ' '));
    const looks = (look || hasLongWord) && html` class="${look}${hasLongWord && ' long'}"`;
    if (index === 0) return html`<th scope="row"${looks}>${inside}</th>`;
    return html`
      <td${looks}${look !== 'end' && html` data-label="${heading}"`}>${inside}</td>`;
  };
  return html`
<table class="stacked ${look}">
  <thead><tr>${columns.map(([heading, , look]) => html`<th scope="col"${look && html` class="${look}"`}>${look === 'end' ? html`<span class="unseen">${heading}</span>` : heading}</th>`)}</tr></thead>
  <tbody>${rows.map(
    (row) => html`
    <tr>${columns.map((column, index) => cell(row, column, index))}</tr>`,
  )}
  </tbody>
</table>`;
}

/** A table in a box that scrolls. The first cell of a row names it. */
export function scrollTable(
  label: HtmlValue,
  headings: HtmlValue[],
  rows: HtmlValue[][],
  { look = '', total }: { look?: string; total?: HtmlValue[] } = {},
): Html {
  const line = ([name, ...cells]: HtmlValue[]) =>
    html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`;
  return html`
<div class="scroll" tabindex="0" role="group" aria-label="${label}">
<table class="${look}">
  <thead><tr>${headings.map((heading) => html`<th scope="col">${heading}</th>`)}</tr></thead>
  <tbody>${rows.map(line)}</tbody>
  ${total && html`<tfoot>${line(total)}</tfoot>`}
</table>
</div>`;
}
