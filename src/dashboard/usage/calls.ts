import { ERROR_KINDS } from '../../http/error-kind.ts';
import type { MemberContext } from '../page-context.ts';
import { type Html, type HtmlValue, html } from '../ui/html.ts';
import { dateOf, facts, scrollTable } from '../ui/parts.ts';
import { separatorQuery } from './csv.ts';
import type { Counts, DailyHistory } from './daily-calls.ts';
import { plotDailyCalls, type Series, type Split, seriesOf } from './plot.ts';
import { type Days, RANGES, type Range, rangeQuery } from './range.ts';

/** The plot's range and split, from the address. */
export interface CallsView {
  range: Range;
  split: Split;
}

/** The overview's plot of calls a day, its table, and the choices of what it shows. */
export function callsSection(context: MemberContext, history: DailyHistory, view: CallsView): Html {
  const { messages, formats, tools } = context;
  const all = seriesOf(history.rows, view.split, messages);
  const total = all.reduce((sum, series) => sum + series.total, 0);
  const tab = (change: Partial<CallsView>, label: string) => {
    const { range, split } = { ...view, ...change };
    const isCurrent = range === view.range && split === view.split;
    return html`<a href="${tools.base}?by=${split}&amp;${rangeQuery(range)}#calls"${isCurrent && html` aria-current="true"`}>${label}</a>`;
  };
  return html`
<section class="card" id="calls" aria-labelledby="calls-title" data-live>
  <div class="heading">
    <div>
      <h2 id="calls-title">${messages.plotTitle}</h2>
      <p class="lead"><span data-figure="plotted">${messages.plotTotal(formats.number(total))}</span>${total > 0 && html` · ${daysShown(context, history, view.range)}`}</p>
    </div>
    <div class="choices">
      <div class="tabs" role="group" aria-label="${messages.range}">${RANGES.map((range) => tab({ range }, range === 'period' ? messages.thisPeriod : messages.days(String(range))))}</div>
      <div class="tabs" role="group" aria-label="${messages.split}">${tab({ split: 'kind' }, messages.byKind)}${tab({ split: 'key' }, messages.byKey)}</div>
    </div>
  </div>
  ${total === 0 ? html`<div class="empty">${typeof view.range === 'object' ? html`<h3>${messages.plotNone}</h3>` : html`<h3>${messages.plotEmpty}</h3><p>${messages.plotEmptyLead}</p>`}</div>` : plotAndTable(context, history, all, view)}
</section>`;
}

function plotAndTable(
  context: MemberContext,
  history: DailyHistory,
  all: Series[],
  { range }: CallsView,
): Html {
  const { messages, formats, tools } = context;
  const total = messages.plotTotal(formats.number(all.reduce((sum, series) => sum + series.total, 0)));
  return html`
<ul class="legend">${all.map((series, index) => html`<li class="series-${Math.min(index + 1, 6)}">${cut(series.label)} <strong>${formats.number(series.total)}</strong></li>`)}</ul>
${plotDailyCalls(all, history, messages.plotLabel(total), formats)}
<div class="under">
  <details>
    <summary>${messages.table}</summary>
    ${tableOf(context, all)}
    <p class="hint">${messages.tableEmptyDays}</p>
  </details>
  <a href="${tools.base}/usage.csv?${rangeQuery(range)}&amp;${separatorQuery(context)}" download>${messages.csv}</a>
</div>`;
}

/** The days that a section shows, in words. */
function daysShown({ messages, formats }: MemberContext, { from, to }: Days, range: Range): string {
  const date = (day: string) => formats.date(new Date(day));
  return typeof range === 'object'
    ? messages.plotBetween(date(from), date(to))
    : messages.plotSince(date(from));
}

function tableOf({ messages, formats }: MemberContext, all: Series[]): Html {
  const days = [...new Set(all.flatMap((series) => [...series.calls.keys()]))].sort().reverse();
  const withSum = (counts: number[]) =>
    [...counts, counts.reduce((sum, count) => sum + count, 0)].map(formats.number);
  return scrollTable(
    messages.table,
    [messages.day, ...all.map(({ label }) => cut(label)), messages.total],
    days.map((day) => [dateOf(formats, day), ...withSum(all.map(({ calls }) => calls.get(day) ?? 0))]),
    { look: 'numbers', total: [messages.total, ...withSum(all.map(({ total }) => total))] },
  );
}

/** Names of keys have up to 200 characters: the style sheet cuts long ones. */
const cut = (label: string) => html`<span class="cut" title="${label}">${label}</span>`;

/** The columns of the errors: their number by kind, and the credits that they cost. */
const ERROR_SUMS = [...ERROR_KINDS, 'errorCredits'] as const;

/** The part of the overview about calls that got an error, by kind and day. Nothing for an account without any. */
export function errorsSection(context: MemberContext, history: DailyHistory, range: Range): HtmlValue {
  const { messages, formats } = context;
  const { rows } = history;
  const sumsOf = (rows: Counts[]) => ERROR_SUMS.map((kind) => rows.reduce((sum, row) => sum + row[kind], 0));
  const totals = sumsOf(rows);
  const isSome = (counts: number[]) => counts.some((count) => count > 0);
  if (!isSome(totals)) return null;
  const days = [...Map.groupBy(rows, ({ day }) => day)]
    .map(([day, ofDay]) => ({ day, counts: sumsOf(ofDay) }))
    .filter(({ counts }) => isSome(counts))
    .map(({ day, counts }) => [dateOf(formats, day), ...counts.map(formats.number)])
    .toReversed();
  const headings = [messages.day, ...ERROR_SUMS.map((kind) => messages.errorKinds[kind])];
  return html`
<section class="card" id="errors" aria-labelledby="errors-title" data-live>
  <h2 id="errors-title">${messages.errorsTitle}</h2>
  <p class="lead">${messages.errorsLead} · ${daysShown(context, history, range)}</p>
  ${facts(ERROR_SUMS.map((kind, index) => [messages.errorKinds[kind], html`<span data-errors="${kind}">${formats.number(totals[index]!)}</span>`]))}
  <details>
    <summary>${messages.table}</summary>
    ${scrollTable(messages.errorsTitle, headings, days, { look: 'numbers' })}
  </details>
</section>`;
}
