import { CALL_KINDS } from '../../http/call-kind.ts';
import { DAY } from '../../platform/units.ts';
import { type Html, html } from '../ui/html.ts';
import type { Formats } from '../ui/language.ts';
import type { Messages } from '../ui/messages.ts';
import { callsOf, type DailyCalls, OTHER_KEYS } from './daily-calls.ts';
import type { Days } from './range.ts';

/** Height of the bars' area and of the line of days below it, in CSS pixels. */
const HEIGHT = 232;
const DAYS_HEIGHT = 28;
const INTERVALS = 4;
/** A plot has a week at least. A new account sees the days to come, empty. */
const MIN_DAYS = 7;

/**
 * Stacked bars of calls a day, as an SVG that fills its place's width. x is in percent and y in pixels, so that no text is
 * scaled. The style sheet has the colours.
 *
 * @param label the text for a screen reader
 */
export function plotDailyCalls(all: Series[], { from, to }: Days, label: string, formats: Formats): Html {
  const first = Date.parse(from);
  const count = Math.max(MIN_DAYS, Math.round((Date.parse(to) - first) / DAY) + 1);
  const days = Array.from({ length: count }, (_, index) => {
    const day = new Date(first + index * DAY);
    const name = day.toISOString().slice(0, 10);
    const parts = all.map((series) => ({ label: series.label, calls: series.calls.get(name) ?? 0 }));
    return { day, parts, total: parts.reduce((sum, { calls }) => sum + calls, 0) };
  });
  const top = niceTop(Math.max(...days.map(({ total }) => total)));
  const slot = 100 / count;
  const y = (calls: number) => round(HEIGHT * (1 - calls / top));
  const ticks = Array.from({ length: INTERVALS + 1 }, (_, index) => top - (top / INTERVALS) * index);
  // About nine days have a label, counted from the last. A phone has room for every third label.
  const step = Math.ceil(count / 9);
  const bar = ({ day, parts, total }: (typeof days)[number], index: number) => {
    let below = 0;
    const rects = parts.map(({ calls }, series) => {
      below += calls;
      return (
        calls > 0 &&
        html`<rect class="series-${Math.min(series + 1, 6)}" x="${round((index + (count > 40 ? 0.1 : 0.2)) * slot)}%" width="${round(slot * (count > 40 ? 0.8 : 0.6))}%" y="${y(below)}" height="${round((HEIGHT * calls) / top)}"/>`
      );
    });
    const lines = [
      `${formats.date(day)}: ${formats.number(total)}`,
      ...parts
        .filter(({ calls }) => calls > 0)
        .map(({ label, calls }) => `${label}: ${formats.number(calls)}`),
    ];
    return (
      total > 0 &&
      html`<g><title>${lines.join('\n')}</title><rect class="day" x="${round(index * slot)}%" width="${round(slot)}%" y="0" height="${HEIGHT}"/>${rects}</g>`
    );
  };
  const dayLabel = ({ day }: (typeof days)[number], index: number) => {
    const back = count - 1 - index;
    const isLast = back === 0 && count > 10;
    if (back % step !== 0 || index * slot + slot / 2 < 3) return false;
    return html`<text${back % (step * 3) !== 0 && html` class="wide-only"`} x="${isLast ? 100 : round((index + 0.5) * slot)}%" y="${HEIGHT + 20}" text-anchor="${isLast ? 'end' : 'middle'}">${formats.day(day)}</text>`;
  };
  return html`
<div class="plot">
  <div class="plot-ticks" aria-hidden="true">${ticks.map((tick) => html`<span>${formats.number(tick)}</span>`)}</div>
  <svg height="${HEIGHT + DAYS_HEIGHT}" role="img" aria-label="${label}">${ticks.map((tick) => html`<line x1="0" x2="100%" y1="${y(tick)}" y2="${y(tick)}"/>`)}${days.map(bar)}${days.map(dayLabel)}</svg>
</div>`;
}

const round = (value: number) => String(Math.round(value * 100) / 100);

/** The smallest round number that is not under `value` and gives whole numbers at every gridline: 4, 8, 20, 40, 80, 100, 200, … */
function niceTop(value: number): number {
  for (let power = 1; ; power *= 10) {
    for (const step of [1, 2, 2.5, 5]) {
      const top = step * power * INTERVALS;
      if (Number.isInteger(step * power) && top >= value) return top;
    }
  }
}

/** The dimension that the plot and the table split calls by. */
export type Split = 'kind' | 'key';

/** One colour of the plot, one column of the table. */
export interface Series {
  label: string;
  /** By day, YYYY-MM-DD; a day without calls has none. */
  calls: Map<string, number>;
  total: number;
}

/** Series of the plot, each with its colour. If there are more keys, those with the fewest calls share the last one. */
export const MAX_SERIES = 6;

/** Calls a day: each kind apart, or each key apart, the busiest first. */
export function seriesOf(rows: DailyCalls[], split: Split, messages: Messages): Series[] {
  return split === 'key'
    ? byKey(rows, messages)
    : CALL_KINDS.map((kind) => series(messages.callKinds[kind], rows, (row) => row[kind]));
}

function byKey(rows: DailyCalls[], messages: Messages): Series[] {
  const admitted = rows.filter((row) => callsOf(row) > 0);
  const { own: ofOwn = [], others = [] } = Object.groupBy(admitted, ({ keyId }) =>
    keyId === OTHER_KEYS ? 'others' : 'own',
  );
  const own = [...Map.groupBy(ofOwn, (row) => row.keyId).values()]
    .map((ofKey) => ({ ofKey, ...series(keyLabel(ofKey[0]!, messages), ofKey, callsOf) }))
    .sort((a, b) => b.total - a.total);
  if (others.length > 0) others.push(...own.splice(MAX_SERIES - 1).flatMap(({ ofKey }) => ofKey));
  const all = others.length === 0 ? own : [...own, series(messages.otherKeys, others, callsOf)];
  // Keys of the same name get a number.
  return all.map((one, index) => {
    const count = all.slice(0, index + 1).filter(({ label }) => label === one.label).length;
    return count === 1 ? one : { ...one, label: `${one.label} (${count})` };
  });
}

function series(label: string, rows: DailyCalls[], count: (row: DailyCalls) => number): Series {
  const calls = new Map<string, number>();
  let total = 0;
  for (const row of rows) {
    const added = count(row);
    if (added === 0) continue;
    calls.set(row.day, (calls.get(row.day) ?? 0) + added);
    total += added;
  }
  return { label, calls, total };
}

/** The name of a key, or the beginning of its secret. */
function keyLabel(key: DailyCalls, messages: Messages): string {
  if (key.keyId === null) return messages.dashboardCalls;
  return key.keyName === '' ? `${key.keyStart}…` : key.keyName;
}
