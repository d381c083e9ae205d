import type { Messages } from '../messages.ts';
import type { MemberContext } from '../page-context.ts';
import { type Html, html } from '../ui/html.ts';
import { type Column, table } from '../ui/parts.ts';
import type { NifList, Row } from './screen-list.ts';

/** Why a row is not screened, in words. */
export function leftOutText(messages: Messages, { leftOut, firstLine }: Row): string {
  const text = messages.screenLeftOut[leftOut!];
  return typeof text === 'function' ? text(String(firstLine)) : text;
}

/** The outcome of each row of a list: a sentence that adds up to the rows, and the rows that are not screened, with the reason. */
export function reconciled({ messages, formats }: MemberContext, { rows, nifs }: NifList): Html {
  const leftOut = rows.filter((row) => row.leftOut !== null);
  const countOf = (...reasons: Row['leftOut'][]) =>
    rows.filter((row) => reasons.includes(row.leftOut)).length;
  const parts: [count: number, text: (count: string) => string][] = [
    [nifs.length, messages.screenCompanies],
    [countOf('repeated'), messages.screenRepeated],
    [countOf('wrong'), messages.screenWrong],
    [countOf('length', 'rounded', 'missing'), messages.screenWithoutNif],
  ];
  const shown = parts.filter(([count]) => count > 0).map(([count, text]) => text(formats.number(count)));
  const columns: Column<Row>[] = [
    [messages.screenPasted, ({ text }) => html`<span class="cut" title="${text}">${text}</span>`],
    [messages.screenLine, ({ line }) => formats.number(line), 'amount'],
    [messages.screenWhy, (row) => leftOutText(messages, row)],
  ];
  return html`
<p data-rows>${messages.screenRows(formats.number(rows.length))}: ${shown.join(', ')}.</p>
${leftOut.length > 0 && html`<details${leftOut.length <= 10 && html` open`}><summary>${messages.screenLeftOutTitle(formats.number(leftOut.length))}</summary>${table(columns, leftOut, 'left-out')}</details>`}`;
}
