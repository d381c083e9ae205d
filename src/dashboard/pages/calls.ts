import type { MemberVisit } from '../request/visit.ts';
import { type Html, html } from '../ui/html.ts';
import type { DailyHistory } from '../usage/daily-calls.ts';
import { plotDailyCalls } from '../usage/plot.ts';
import { RANGES, type Range } from '../usage/range.ts';
import { type Series, type Split, seriesOf } from '../usage/series.ts';
import { separatorQuery } from './csv.ts';

/** The plot's range and split, from the address. */
export interface CallsView {
  range: Range;
  split: Split;
}

/** The overview's plot of calls a day, its table, and the choices of what it shows. */
export function callsSection(visit: MemberVisit, history: DailyHistory, view: CallsView): Html {
  const { texts, formats, tools } = visit;
  const all = seriesOf(history.rows, view.split, texts);
  const total = all.reduce((sum, series) => sum + series.total, 0);
  const tab = (change: Partial<CallsView>, label: string) => {
    const { range, split } = { ...view, ...change };
    const isCurrent = range === view.range && split === view.split;
    return html`<a href="${tools.base}?by=${split}&amp;days=${range}#calls"${isCurrent && html` aria-current="true"`}>${label}</a>`;
  };
  const from = new Date(`${history.from}T00:00:00Z`);
  return html`
<section class="card calls" id="calls" aria-labelledby="calls-title" data-live>
  <div class="heading">
    <div>
      <h2 id="calls-title">${texts.plotTitle}</h2>
      <p class="lead"><span data-figure="plotted">${texts.plotTotal(formats.number(total))}</span>${total > 0 && html` · ${texts.plotSince(formats.date(from))}`}</p>
    </div>
    <div class="choices">
      <div class="tabs" role="group" aria-label="${texts.range}">${RANGES.map((range) => tab({ range }, range === 'period' ? texts.thisPeriod : texts.days(range)))}</div>
      <div class="tabs" role="group" aria-label="${texts.split}">${tab({ split: 'kind' }, texts.byKind)}${tab({ split: 'key' }, texts.byKey)}</div>
    </div>
  </div>
  ${total === 0 ? html`<div class="empty"><h3>${texts.plotEmpty}</h3><p>${texts.plotEmptyLead}</p></div>` : plotAndTable(visit, history, all, view)}
</section>`;
}

function plotAndTable(
  visit: MemberVisit,
  { from, today }: DailyHistory,
  all: Series[],
  { range }: CallsView,
): Html {
  const { texts, formats, tools } = visit;
  const total = formats.number(all.reduce((sum, series) => sum + series.total, 0));
  return html`
<ul class="legend">${all.map((series, index) => html`<li class="series-${Math.min(index + 1, 6)}"><span title="${series.label}">${shortened(series.label)}</span> <strong>${formats.number(series.total)}</strong></li>`)}</ul>
${plotDailyCalls(all, { from, today, label: texts.plotLabel(total), formats })}
<div class="under">
  <details>
    <summary>${texts.table}</summary>
    ${table(visit, all)}
    <p class="hint">${texts.tableEmptyDays}</p>
  </details>
  <a href="${tools.base}/usage.csv?days=${range}&amp;${separatorQuery(visit)}" download>${texts.csv}</a>
</div>`;
}

function table({ texts, formats }: MemberVisit, all: Series[]): Html {
  const days = [...new Set(all.flatMap((series) => [...series.calls.keys()]))].sort().reverse();
  const at = (series: Series, day: string) => series.calls.get(day) ?? 0;
  const sum = (count: (series: Series) => number) =>
    formats.number(all.reduce((total, series) => total + count(series), 0));
  return html`
<div class="scroll" tabindex="0" role="group" aria-label="${texts.table}">
<table class="numbers">
  <thead><tr><th scope="col">${texts.day}</th>${all.map((series) => html`<th scope="col" title="${series.label}">${series.label}</th>`)}<th scope="col">${texts.total}</th></tr></thead>
  <tbody>${days.map(
    (day) => html`
    <tr><th scope="row"><time datetime="${day}">${formats.date(new Date(`${day}T00:00:00Z`))}</time></th>${all.map(
      (series) => html`<td>${formats.number(at(series, day))}</td>`,
    )}<td>${sum((series) => at(series, day))}</td></tr>`,
  )}
  </tbody>
  <tfoot><tr><th scope="row">${texts.total}</th>${all.map((series) => html`<td>${formats.number(series.total)}</td>`)}<td>${sum((series) => series.total)}</td></tr></tfoot>
</table>
</div>`;
}

const MAX_LABEL = 40;

/** A label of the legend: names of keys have up to 200 characters. */
function shortened(label: string): string {
  const characters = [...label];
  return characters.length <= MAX_LABEL ? label : `${characters.slice(0, MAX_LABEL - 1).join('')}…`;
}
