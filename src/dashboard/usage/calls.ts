import { utcDay } from '../../platform/dates.ts';
import { DAY } from '../../platform/units.ts';
import type { MemberContext } from '../page-context.ts';
import { type Html, type HtmlValue, html } from '../ui/html.ts';
import { scrollTable } from '../ui/parts.ts';
import type { DailyHistory } from './daily-calls.ts';
import { daysMenu } from './days.ts';
import { type CallLinks, countIn, plotSeries } from './plot.ts';
import { type Days, type Range, rangeQuery } from './range.ts';
import { type Series, type Split, seriesOf } from './series.ts';
import { type Slot, slotsOf } from './slots.ts';

/** The choices of a page about credits and errors, from its address. */
export interface CallsView {
  range: Range;
  split: Split;
}

/** The overview's plots of credits and of errors, with one choice of days and one of the split for both. */
export function callsSections(context: MemberContext, history: DailyHistory, view: CallsView): Html {
  const { messages, tools } = context;
  const { range, split } = view;
  const all = seriesOf(history.rows, 'credits', split, messages);
  const tab = (to: Split, label: string) =>
    html`<a href="${tools.base}?by=${to}&amp;${rangeQuery(range)}#calls"${to === split && html` aria-current="true"`}>${label}</a>`;
  const file = html`<a href="${tools.base}/usage.csv?${rangeQuery(range)}" download>${messages.csv}</a>`;
  return html`
<section class="card" id="calls" aria-labelledby="calls-title" data-live>
  <div class="heading">
    <div>
      <h2 id="calls-title">${messages.plotTitle}</h2>
      <p class="lead">${totalOf(context, all)}${all.length > 0 && html` · ${daysShown(context, history, range)}`}</p>
    </div>
    <div class="choices">
      ${daysMenu(context, range, split, history.first)}
      <div class="tabs" role="group" aria-label="${messages.split}">${tab('kind', messages.byKind)}${tab('key', messages.byKey)}</div>
    </div>
  </div>
  ${all.length === 0 ? emptyPlot(context, range) : plotAndTable(context, history, all, { beside: file })}
</section>
${errorsSection(context, history, view)}`;
}

/** The number of credits in the plot. */
export function totalOf({ messages, formats }: MemberContext, all: Series[]): Html {
  return html`<span data-figure="plotted">${messages.plotTotal(formats.number(sumOf(all)))}</span>`;
}

/** The place of a plot without calls. */
export function emptyPlot({ messages }: MemberContext, range: Range): Html {
  return html`<div class="empty">${typeof range === 'object' ? html`<h3>${messages.plotNone}</h3>` : html`<h3>${messages.plotEmpty}</h3><p>${messages.plotEmptyLead}</p>`}</div>`;
}

/** @param beside the table's folded part, such as a link to a file; @param filter of the calls that a bar leads to */
export function plotAndTable(
  context: MemberContext,
  days: Days,
  all: Series[],
  { beside, filter = {} }: { beside?: HtmlValue; filter?: Record<string, string> } = {},
): Html {
  const { messages, formats } = context;
  const links = callLinks(context, filter);
  const slots = slotsOf(days, formats);
  const label = messages.plotLabel(formats.number(sumOf(all)));
  return html`
<ul class="legend">${all.map(({ label, colour, total }) => html`<li class="series-${colour}">${cut(label)} <strong>${formats.number(total)}</strong></li>`)}</ul>
${plotSeries(all, slots, formats, { label, links })}
<div class="under">
  <details>
    <summary>${messages.table}</summary>
    ${tableOf(context, all, slots, links)}
    <p class="hint">${messages.tableEmptyDays}</p>
  </details>
  ${beside}
</div>`;
}

/** The way from a day to its calls, as long as the service keeps them. */
function callLinks({ messages, tools }: MemberContext, filter: Record<string, string>): CallLinks {
  const { activityDays } = tools.config;
  const oldest = utcDay(Date.now() - (activityDays - 1) * DAY);
  return {
    text: messages.activityOf,
    of({ from, to }) {
      if (activityDays === 0 || from !== to || from < oldest) return null;
      return `${tools.base}/activity?${new URLSearchParams({ ...filter, day: from }).toString()}`;
    },
  };
}

/** The sum of the series' totals. */
export const sumOf = (all: Series[]) => all.reduce((sum, { total }) => sum + total, 0);

/** The days that a section shows, in words. */
function daysShown({ messages, formats }: MemberContext, { from, to }: Days, range: Range): string {
  const date = (day: string) => formats.date(new Date(day));
  return typeof range === 'object'
    ? messages.plotBetween(date(from), date(to))
    : messages.plotSince(date(from));
}

/** The plot's numbers, a row for each of its bars, the latest first. */
function tableOf({ messages, formats }: MemberContext, all: Series[], slots: Slot[], links: CallLinks): Html {
  const rows = slots.map((slot) => ({ slot, counts: all.map((series) => countIn(series, slot)) }));
  const isDays = slots.every(({ from, to }) => from === to);
  const withSum = (counts: number[]) =>
    [...counts, counts.reduce((sum, count) => sum + count, 0)].map(formats.number);
  return scrollTable(
    messages.table,
    [isDays ? messages.day : messages.period, ...all.map(({ label }) => cut(label)), messages.total],
    rows
      .reverse()
      .filter(({ counts }) => counts.some((count) => count > 0))
      .map(({ slot, counts }) => {
        const address = links.of(slot);
        const name = address === null ? slot.heading : html`<a href="${address}">${slot.heading}</a>`;
        return [name, ...withSum(counts)];
      }),
    { look: 'numbers', total: [messages.total, ...withSum(all.map(({ total }) => total))] },
  );
}

/** Names of keys have up to 200 characters: the style sheet cuts long ones. */
const cut = (label: string) =>
  label.length > 40 ? html`<span class="cut" title="${label}">${label}</span>` : html`<span>${label}</span>`;

/** Refused and failed answers a day, and the credits that they cost. Nothing for an account or a key without any. */
export function errorsSection(
  context: MemberContext,
  history: DailyHistory,
  { range, split }: CallsView,
  filter: Record<string, string> = { outcome: 'answer' },
): HtmlValue {
  const { messages, formats } = context;
  const all = seriesOf(history.rows, 'errors', split, messages);
  if (all.length === 0) return null;
  const credits = history.rows.reduce((sum, { errorCredits }) => sum + errorCredits, 0);
  return html`
<section class="card" id="errors" aria-labelledby="errors-title" data-live>
  <div>
    <h2 id="errors-title">${messages.errorsTitle}</h2>
    <p class="lead">${messages.errorsLead} · ${daysShown(context, history, range)}</p>
  </div>
  ${plotAndTable(context, history, all, {
    beside: html`<span>${messages.errorCredits}: <strong data-errors="credits">${formats.number(credits)}</strong></span>`,
    filter,
  })}
</section>`;
}
