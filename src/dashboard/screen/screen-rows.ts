import { UNPAID } from '../../http/api-route.ts';
import type { ProblemName } from '../../http/problems.ts';
import type { MemberContext } from '../context.ts';
import type { Messages } from '../messages.ts';
import { itemProblem, problemLink } from '../try/call-problem.ts';
import type { Cost } from '../try/own-call.ts';
import { type Html, type HtmlValue, html } from '../ui/html.ts';
import { type Column, table } from '../ui/parts.ts';
import type { NifList, Row } from './screen-list.ts';

/** The cost of sending a list, as a sentence. */
export function costText({ messages, formats }: MemberContext, { credits, isRepeated }: Cost): string {
  return `${isRepeated ? messages.screenAgain : messages.creditsSpent(formats.number(credits))}.`;
}

/** Whether an item lacks its credit. A repetition answers 503 to those that its first sending has not paid. */
export const isUnpaid = (kind: ProblemName, { isRepeated }: Cost): boolean =>
  UNPAID.some((unpaid) => unpaid === kind) || (isRepeated && kind === 'service-unavailable');

/** The outcome of an item with a problem, in words. */
export const failedText = (context: MemberContext, kind: ProblemName, cost: Cost): string =>
  isUnpaid(kind, cost) ? context.messages.screenOutcomes.unpaid : itemProblem(context, kind);

/** The same with a link to the problem, unless the page says elsewhere what to do about it. */
export const failedCell = (context: MemberContext, kind: ProblemName, cost: Cost): Html =>
  html`${failedText(context, kind, cost)} ${!isUnpaid(kind, cost) && problemLink(context, kind)}`;

/** Why a row is not screened, in words. */
export function leftOutText(messages: Messages, { leftOut, firstLine }: Row): string {
  const text = messages.screenLeftOut[leftOut!];
  return typeof text === 'function' ? text(String(firstLine)) : text;
}

/** Characters of a row that a table has. A file has all of them. */
const MAX_TEXT = 80;

export const shownText = ({ text }: Row): string => text.slice(0, MAX_TEXT);

/** The cell of a row as it was pasted. */
export function pastedCell(row: Row): Html {
  const shown = shownText(row);
  return html`<span class="cut" title="${shown}">${shown}</span>`;
}

/** Rows of a list that are not screened, and are shown. */
const MAX_SHOWN = 200;

/** The rows without all but the first {@link MAX_SHOWN} of those that are not screened, and a note that tells how many are missing. */
export function shownRows<T>(
  { messages, formats }: MemberContext,
  rows: T[],
  isLeftOut: (row: T) => boolean,
): { shown: T[]; note: HtmlValue } {
  let count = 0;
  const shown = rows.filter((row) => !isLeftOut(row) || ++count <= MAX_SHOWN);
  const more = count - MAX_SHOWN;
  return { shown, note: more > 0 && html`<p class="hint">${messages.screenMore(formats.number(more))}</p>` };
}

/** The outcome of each row of a list: a sentence that adds up to the rows, and the rows that are not screened, with the reason. */
export function reconciled(context: MemberContext, { rows, nifs }: NifList): Html {
  const { messages, formats } = context;
  const leftOut = rows.filter((row) => row.leftOut !== null);
  const countOf = (...reasons: Row['leftOut'][]) =>
    rows.filter((row) => reasons.includes(row.leftOut)).length;
  const parts: [count: number, text: (count: string) => string][] = [
    [nifs.length, messages.screenCompanies],
    [countOf('repeated'), messages.screenRepeated],
    [countOf('wrong'), messages.screenWrong],
    [countOf('length', 'rounded', 'missing'), messages.screenWithoutNif],
  ];
  const sums = parts.filter(([count]) => count > 0).map(([count, text]) => text(formats.number(count)));
  const { shown, note } = shownRows(context, leftOut, () => true);
  const columns: Column<Row>[] = [
    [messages.screenPasted, pastedCell],
    [messages.screenLine, ({ line }) => formats.number(line), 'amount'],
    [messages.screenWhy, (row) => leftOutText(messages, row)],
  ];
  return html`
<p data-rows>${messages.screenRows(formats.number(rows.length))}: ${sums.join(', ')}.</p>
${leftOut.length > 0 && html`<details${leftOut.length <= 10 && html` open`}><summary>${messages.screenLeftOutTitle(formats.number(leftOut.length))}</summary>${table(columns, shown, 'left-out')}${note}</details>`}`;
}
