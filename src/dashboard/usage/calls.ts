import { utcDay } from '../../platform/dates.ts';
import { DAY } from '../../platform/units.ts';
import type { MemberContext } from '../context.ts';
import { type Html, type HtmlValue, html, scrollTable } from '../ui/html.ts';
import { type DailyHistory, loadHours } from './daily-calls.ts';
import {
  type CallLinks,
  daySlots,
  hourSlots,
  plotSeries,
  type Series,
  type Slot,
  seriesOf,
  seriesOfHours,
} from './plot.ts';
import { type Days, daysMenu, isMonth, type Range } from './range.ts';

/** The overview's plot of credits, with its choice of days. */
export function callsSection(context: MemberContext, history: DailyHistory, range: Range): Html {
  const { messages, formats, tools } = context;
  const all = seriesOf(history.rows, 'credits', messages);
  const file = html`<a href="${tools.base}/usage.csv?days=${range}" download>${messages.csv}</a>`;
  return html`
<section class="card" id="calls" aria-labelledby="calls-title">
  <div class="heading">
    <div>
      <h2 id="calls-title">${messages.plotTitle}</h2>
      <p class="lead">${totalOf(context, all)}${all.length > 0 && html` · ${daysShown(context, history, range)}`}</p>
    </div>
    ${daysMenu(context, range, history.first)}
  </div>
  ${all.length === 0 ? emptyPlot(context, range) : plotAndTable(context, daySlots(history, formats), all, { beside: file })}
</section>`;
}

/** The number of credits in the plot. */
export function totalOf({ messages, formats }: MemberContext, all: Series[]): Html {
  return html`<span data-figure="plotted">${messages.plotTotal(formats.number(sumOf(all)))}</span>`;
}

/** The place of a plot without calls. */
export function emptyPlot({ messages }: MemberContext, range: Range): Html {
  return html`<div class="empty">${isMonth(range) ? html`<h3>${messages.plotNone}</h3>` : html`<h3>${messages.plotEmpty}</h3><p>${messages.plotEmptyLead}</p>`}</div>`;
}

/** @param beside the table's folded part, such as a link to a file; @param filter of the calls that a bar leads to */
export function plotAndTable(
  context: MemberContext,
  slots: Slot[],
  all: Series[],
  { beside, filter = {} }: { beside?: HtmlValue; filter?: Record<string, string> } = {},
): Html {
  const { messages, formats } = context;
  const links = callLinks(context, filter);
  const label = messages.plotLabel(formats.number(sumOf(all)));
  return html`
<ul class="legend">${all.map(({ label, colour, total }) => html`<li class="series-${colour}"><span>${label}</span> <strong>${formats.number(total)}</strong></li>`)}</ul>
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
    of(at) {
      const day = at.slice(0, 10);
      const query = new URLSearchParams({ ...filter, day });
      return activityDays === 0 || day < oldest ? null : `${tools.base}/activity?${query.toString()}`;
    },
  };
}

/** The sum of the series' totals. */
export const sumOf = (all: Series[]) => all.reduce((sum, { total }) => sum + total, 0);

/** The days that a section shows, in words. */
function daysShown({ messages, formats }: MemberContext, { from, to }: Days, range: Range): string {
  const date = (day: string) => formats.date(new Date(day));
  return isMonth(range) ? messages.plotBetween(date(from), date(to)) : messages.plotSince(date(from));
}

/** The plot's numbers, a row for each of its bars, the latest first. */
function tableOf({ messages, formats }: MemberContext, all: Series[], slots: Slot[], links: CallLinks): Html {
  const rows = slots.map((slot) => ({ ...slot, counts: all.map(({ counts }) => counts.get(slot.at) ?? 0) }));
  const withSum = (counts: number[]) =>
    [...counts, counts.reduce((sum, count) => sum + count, 0)].map(formats.number);
  return scrollTable(
    messages.table,
    [messages.day, ...all.map(({ label }) => label), messages.total],
    rows
      .reverse()
      .filter(({ counts }) => counts.some((count) => count > 0))
      .map(({ at, name: text, counts }) => {
        const address = links.of(at);
        const heading = html`<time datetime="${at}">${text}</time>`;
        const name = address === null ? heading : html`<a href="${address}">${heading}</a>`;
        return [name, ...withSum(counts)];
      }),
    { look: 'numbers', total: [messages.total, ...withSum(all.map(({ total }) => total))] },
  );
}

/** Refused and failed answers a day, and the credits that they cost. Nothing for an account or a key without any. */
export function errorsSection(
  context: MemberContext,
  history: DailyHistory,
  range: Range,
  filter: Record<string, string>,
): HtmlValue {
  const { messages, formats } = context;
  const all = seriesOf(history.rows, 'errors', messages);
  if (all.length === 0) return null;
  const credits = history.rows.reduce((sum, { errorCredits }) => sum + errorCredits, 0);
  return html`
<section class="card" id="errors" aria-labelledby="errors-title">
  <div>
    <h2 id="errors-title">${messages.errorsTitle}</h2>
    <p class="lead">${messages.errorsLead} · ${daysShown(context, history, range)}</p>
  </div>
  ${plotAndTable(context, daySlots(history, formats), all, {
    beside: html`<span>${messages.errorCredits}: <strong data-errors="credits">${formats.number(credits)}</strong></span>`,
    filter,
  })}
</section>`;
}

/** The last hours, to see whether calls fail now. Nothing for an account without any. */
export async function hoursSection(context: MemberContext): Promise<HtmlValue> {
  const { messages, formats, tools, account } = context;
  const all = seriesOfHours(await loadHours(tools.sql, account.id), messages);
  if (sumOf(all) === 0) return null;
  return html`
<section class="card" id="hours" aria-labelledby="hours-title">
  <div>
    <h2 id="hours-title">${messages.hoursTitle}</h2>
    <p class="lead">${messages.hoursLead}</p>
  </div>
  ${plotAndTable(context, hourSlots(formats), all)}
</section>`;
}
