import { utcDay } from '../../platform/dates.ts';
import { DAY } from '../../platform/units.ts';
import type { MemberContext } from '../context.ts';
import { dot, type Html, type HtmlValue, html, scrollTable } from '../ui/html.ts';
import { creditsOf, type DailyHistory, daysMenu, loadHours, type Range } from './daily-calls.ts';
import {
  creditSeries,
  daySlots,
  hourSlots,
  plotSeries,
  requestSeries,
  type Series,
  type Slot,
} from './plot.ts';

/** The overview's plot of credits, with its choice of days. */
export function callsSection(context: MemberContext, history: DailyHistory, range: Range): Html {
  const { messages, formats, tools } = context;
  const all = creditSeries(history.rows, messages);
  const [from, to] = [history.from, history.to].map((day) => formats.date(new Date(day))) as [string, string];
  return plotCard(context, {
    id: 'calls',
    title: messages.plotTitle,
    lead: html`${totalOf(context, history)}${all.length > 0 && html` · ${messages.plotDays(from, to)}`}`,
    menu: daysMenu(context, range, history.first),
    slots: daySlots(history, formats),
    all,
    beside: html`<a href="${tools.base}/usage.csv?days=${range}">${messages.csv}</a>`,
  });
}

/** The requests of a key on some days by their outcome, and the credits that it has spent. */
export function keySection(context: MemberContext, history: DailyHistory, days: number): Html {
  const { messages, formats, id } = context;
  return plotCard(context, {
    id: 'use',
    title: messages.keyUse(String(days)),
    lead: html`${messages.requestsLead} · ${totalOf(context, history)}`,
    slots: daySlots(history, formats),
    all: requestSeries(history.rows, messages),
    filter: { key: id },
  });
}

/** The last hours, to see whether calls fail now. Nothing for an account without any. */
export async function hoursSection(context: MemberContext): Promise<HtmlValue> {
  const { messages, formats, tools, account } = context;
  const all = requestSeries(await loadHours(tools.sql, account.id), messages);
  if (all.length === 0) return null;
  const { hoursTitle: title, requestsLead: lead } = messages;
  return plotCard(context, { id: 'hours', title, lead, slots: hourSlots(formats), all });
}

/** The credits of some days. */
function totalOf({ messages, formats }: MemberContext, { rows }: DailyHistory): Html {
  return html`<span data-figure="plotted">${messages.plotTotal(formats.number(creditsOf(rows)))}</span>`;
}

interface Plot {
  id: string;
  title: string;
  lead: HtmlValue;
  menu?: Html;
  slots: Slot[];
  all: Series[];
  /** Beside the table's folded part, such as a link to a file. */
  beside?: Html;
  /** Of the calls that a day leads to. */
  filter?: Record<string, string>;
}

/** A card with a plot, and its numbers as a table. */
function plotCard(context: MemberContext, plot: Plot): Html {
  const { messages, formats } = context;
  const { id, title, lead, menu, slots, all, beside } = plot;
  const hasToday = slots.some(({ at }) => at >= utcDay(Date.now()));
  const label = messages.plotLabel(formats.number(all.reduce((sum, { total }) => sum + total, 0)));
  return html`
<section class="card" id="${id}" aria-labelledby="${id}-title">
  <div class="heading">
    <div>
      <h2 id="${id}-title">${title}</h2>
      <p class="lead">${lead}</p>
    </div>
    ${menu}
  </div>
  ${
    all.length === 0
      ? html`<div class="empty"><h3>${messages.plotNone}</h3>${hasToday && html`<p>${messages.plotEmptyLead}</p>`}</div>`
      : html`
  <ul class="legend">${all.map(({ label, colour, total }) => html`<li>${dot(colour)}<span>${label}</span> <strong>${formats.number(total)}</strong></li>`)}</ul>
  ${plotSeries(all, slots, formats, label)}
  <div class="under">
    <details>
      <summary>${messages.table}</summary>
      ${tableOf(context, plot)}
    </details>
    ${beside}
  </div>`
  }
</section>`;
}

/** The plot's numbers, a row for each of its bars, the latest first. A day leads to its calls as long as the service keeps them. */
function tableOf({ messages, formats, tools }: MemberContext, { all, slots, filter = {} }: Plot): Html {
  const { activityDays } = tools.config;
  const oldest = utcDay(Date.now() - (activityDays - 1) * DAY);
  const name = ({ at, name }: Slot) => {
    const day = at.slice(0, 10);
    const time = html`<time datetime="${at}">${name}</time>`;
    const query = new URLSearchParams({ ...filter, day }).toString();
    return activityDays === 0 || day < oldest
      ? time
      : html`<a href="${tools.base}/activity?${query}">${time}</a>`;
  };
  const withSum = (counts: number[]) =>
    [...counts, counts.reduce((sum, count) => sum + count, 0)].map(formats.number);
  return scrollTable(
    messages.table,
    [messages.day, ...all.map(({ label }) => label), messages.total],
    slots
      .map((slot) => ({ slot, counts: all.map(({ counts }) => counts.get(slot.at) ?? 0) }))
      .reverse()
      .filter(({ counts }) => counts.some((count) => count > 0))
      .map(({ slot, counts }) => [name(slot), ...withSum(counts)]),
    { look: 'numbers', total: [messages.total, ...withSum(all.map(({ total }) => total))] },
  );
}
