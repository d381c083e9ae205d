import { CALL_KINDS, type CallKind } from '../../http/call-kind.ts';
import { ERROR_KINDS, type ErrorKind } from '../../http/error-kind.ts';
import { HOUR } from '../../platform/units.ts';
import type { Messages } from '../messages.ts';
import { type Html, html } from '../ui/html.ts';
import type { Formats } from '../ui/language.ts';
import { callsOf, type DailyCalls, type Days, dayAfter, PLOTTED_HOURS } from './daily-calls.ts';

/** Height of the bars' area and of the line of days below it, in CSS pixels. */
const HEIGHT = 232;
const DAYS_HEIGHT = 28;
/** The most spaces between gridlines. */
const MAX_INTERVALS = 5;
/** Few bars are as wide as those of a week, and have empty room behind them. */
const MIN_SLOTS = 7;
/** Bars with a label below them, at most, and the number of bars from which on gaps are narrow. */
const LABELS = 9;
const NARROW_FROM = 40;

/** A day or an hour, in UTC. */
export interface Slot {
  /** YYYY-MM-DD, or YYYY-MM-DDTHH:00Z. */
  at: string;
  name: string;
  /** Below its bar. */
  short: string;
}

/** Each day of a range, the oldest first. */
export function daySlots({ from, to }: Days, { date, day: short }: Formats): Slot[] {
  const slots: Slot[] = [];
  for (let at = from; at <= to; at = dayAfter(at))
    slots.push({ at, name: date(new Date(at)), short: short(new Date(at)) });
  return slots;
}

/** Each of the last hours, the oldest first. */
export function hourSlots({ moment }: Formats): Slot[] {
  const present = Math.floor(Date.now() / HOUR);
  return Array.from({ length: PLOTTED_HOURS }, (_, index) => {
    const at = new Date((present + 1 - PLOTTED_HOURS + index) * HOUR);
    const text = at.toISOString();
    return { at: `${text.slice(0, 16)}Z`, name: moment(at), short: text.slice(11, 16) };
  });
}

/**
 * Stacked bars, as an SVG that fills its place's width. x is in percent and y in pixels, so that no text is scaled. The style
 * sheet has the colours. dashboard.js shows the values of a bar at a touch, under the pointer and by the arrow keys.
 *
 * @param label the text for a screen reader
 * @param slots a bar each, at most 90
 */
export function plotSeries(all: Series[], slots: Slot[], formats: Formats, label: string): Html {
  const bars = slots.map(({ at, name }) => {
    const parts = all
      .map((series) => ({ ...series, count: series.counts.get(at) ?? 0 }))
      .filter(({ count }) => count > 0);
    return { name, parts, total: parts.reduce((sum, { count }) => sum + count, 0) };
  });
  const { step: interval, top } = scaleOf(Math.max(...bars.map(({ total }) => total)));
  const width = 100 / Math.max(MIN_SLOTS, slots.length);
  const [gap, thickness] = slots.length > NARROW_FROM ? [0.1, 0.8] : [0.2, 0.6];
  const y = (count: number) => round(HEIGHT * (1 - count / top));
  const ticks = Array.from({ length: top / interval + 1 }, (_, index) => top - interval * index);
  const bar = ({ name, parts, total }: (typeof bars)[number], index: number) => {
    if (total === 0) return false;
    let below = 0;
    const rects = parts.map(({ count, colour }) => {
      below += count;
      return html`<rect fill="var(--series-${colour})" x="${round((index + gap) * width)}%" width="${round(width * thickness)}%" y="${y(below)}" height="${round((HEIGHT * count) / top)}"/>`;
    });
    const lines = [{ label: name, count: total }, ...parts].map(
      ({ label, count }) => `${label}: ${formats.number(count)}`,
    );
    return html`<g><title>${lines.join('\n')}</title><rect class="day" x="${round(index * width)}%" width="${round(width)}%" y="0" height="${HEIGHT}"/>${rects}</g>`;
  };
  // Labels are counted from the last slot. A phone has room for every third one.
  const step = Math.ceil(slots.length / LABELS);
  const axis = ({ short }: Slot, index: number) => {
    const back = slots.length - 1 - index;
    const isLast = back === 0 && slots.length > 10;
    if (back % step !== 0 || index * width + width / 2 < 3) return false;
    return html`<text${back % (step * 3) !== 0 && html` class="wide-only"`} x="${isLast ? 100 : round((index + 0.5) * width)}%" y="${HEIGHT + 20}" text-anchor="${isLast ? 'end' : 'middle'}">${short}</text>`;
  };
  return html`
<div class="plot">
  <p><output></output></p>
  <div class="plot-ticks" aria-hidden="true">${ticks.map((tick) => html`<span>${formats.number(tick)}</span>`)}</div>
  <svg height="${HEIGHT + DAYS_HEIGHT}" role="img" tabindex="0" aria-label="${label}">${ticks.map((tick) => html`<line x1="0" x2="100%" y1="${y(tick)}" y2="${y(tick)}"/>`)}${bars.map(bar)}${slots.map(axis)}</svg>
</div>`;
}

const round = (value: number) => String(Math.round(value * 100) / 100);

/** The smallest round step with which few gridlines reach `value`, a whole number; and the highest gridline. */
export function scaleOf(value: number): { step: number; top: number } {
  for (let power = 1; ; power *= 10) {
    for (const factor of [1, 2, 2.5, 5]) {
      const step = factor * power;
      const intervals = Math.max(1, Math.ceil(value / step));
      if (Number.isInteger(step) && intervals <= MAX_INTERVALS) return { step, top: step * intervals };
    }
  }
}

/** The colours of the style sheet: of kinds of calls, of refusals, and of other errors. Red stands for refusals alone. */
type Colour = 1 | 2 | 3 | 4 | 5 | `refused-${1 | 2 | 3 | 4}` | `error-${1 | 2}`;

/** One colour of the plot, one column of the table. */
export interface Series {
  label: string;
  colour: Colour;
  /** By {@link Slot.at}; one without any has none. */
  counts: Map<string, number>;
  total: number;
}

const COLOURS: Record<CallKind | ErrorKind, Colour> = {
  search: 1,
  match: 2,
  lookup: 3,
  debts: 4,
  resolve: 5,
  'rate-limit-exceeded': 'refused-1',
  'monthly-quota-exceeded': 'refused-2',
  'key-limits': 'refused-4',
  '401': 'refused-3',
  '4xx': 'error-1',
  '5xx': 'error-2',
};

/** The credits of each kind of calls that has any. */
export const creditSeries = (rows: DailyCalls[], { callKinds }: Messages): Series[] =>
  CALL_KINDS.flatMap((kind) => series(callKinds[kind], COLOURS[kind], rows, (row) => row[kind]));

/**
 * Requests, and items of lists, by their outcome. Each stands in one series, so that the height of a bar has one unit: one that an error
 * has charged is no answered one.
 */
export const requestSeries = (rows: DailyCalls[], { answered, errorKinds }: Messages): Series[] => [
  ...series(answered, 1, rows, (row) => Math.max(0, callsOf(row) - row.errorCredits)),
  ...ERROR_KINDS.flatMap((kind) => series(errorKinds[kind], COLOURS[kind], rows, (row) => row[kind])),
];

/** A series; none without a count. */
function series(
  label: string,
  colour: Colour,
  rows: DailyCalls[],
  count: (row: DailyCalls) => number,
): Series[] {
  const counts = new Map(rows.map((row) => [row.day, count(row)]));
  const total = counts.values().reduce((sum, count) => sum + count, 0);
  return total === 0 ? [] : [{ label, colour, counts, total }];
}
