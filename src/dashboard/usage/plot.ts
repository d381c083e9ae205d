import { CALL_KINDS, type CallKind } from '../../http/call-kind.ts';
import { ERROR_KINDS, type ErrorKind } from '../../http/error-kind.ts';
import type { Messages } from '../messages.ts';
import { type Html, html } from '../ui/html.ts';
import type { Formats } from '../ui/language.ts';
import type { DailyCalls } from './daily-calls.ts';
import { type Days, dayAfter } from './range.ts';

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

/** The way from a bar to its calls. */
export interface CallLinks {
  text: string;
  /** The address of the calls of a day; `null` means that they are not kept one by one. */
  of(day: string): string | null;
}

/** Each day of a range, the oldest first. */
export function daysIn({ from, to }: Days): string[] {
  const days: string[] = [];
  for (let day = from; day <= to; day = dayAfter(day)) days.push(day);
  return days;
}

/**
 * Stacked bars, as an SVG that fills its place's width. x is in percent and y in pixels, so that no text is scaled. The style
 * sheet has the colours. dashboard.js shows the values of a bar at a touch, under the pointer and by the arrow keys.
 *
 * @param label the text for a screen reader
 * @param days a bar each, at most 90
 * @param links to the calls of a bar
 */
export function plotSeries(
  all: Series[],
  days: string[],
  formats: Formats,
  { label, links }: { label: string; links: CallLinks },
): Html {
  const bars = days.map((day) => {
    const parts = all
      .map((series) => ({ ...series, count: series.counts.get(day) ?? 0 }))
      .filter(({ count }) => count > 0);
    return { day, parts, total: parts.reduce((sum, { count }) => sum + count, 0) };
  });
  const { step: interval, top } = scaleOf(Math.max(...bars.map(({ total }) => total)));
  const width = 100 / Math.max(MIN_SLOTS, days.length);
  const [gap, thickness] = days.length > NARROW_FROM ? [0.1, 0.8] : [0.2, 0.6];
  const y = (count: number) => round(HEIGHT * (1 - count / top));
  const ticks = Array.from({ length: top / interval + 1 }, (_, index) => top - interval * index);
  const bar = ({ day, parts, total }: (typeof bars)[number], index: number) => {
    if (total === 0) return false;
    let below = 0;
    const rects = parts.map(({ count, colour }) => {
      below += count;
      return html`<rect class="series-${colour}" x="${round((index + gap) * width)}%" width="${round(width * thickness)}%" y="${y(below)}" height="${round((HEIGHT * count) / top)}"/>`;
    });
    const lines = [{ label: formats.date(new Date(day)), count: total }, ...parts].map(
      ({ label, count }) => `${label}: ${formats.number(count)}`,
    );
    const address = links.of(day);
    return html`<g${address !== null && html` data-calls="${address}"`}><title>${lines.join('\n')}</title><rect class="day" x="${round(index * width)}%" width="${round(width)}%" y="0" height="${HEIGHT}"/>${rects}</g>`;
  };
  // Labels are counted from the last slot. A phone has room for every third one.
  const step = Math.ceil(days.length / LABELS);
  const axis = (day: string, index: number) => {
    const back = days.length - 1 - index;
    const isLast = back === 0 && days.length > 10;
    if (back % step !== 0 || index * width + width / 2 < 3) return false;
    return html`<text${back % (step * 3) !== 0 && html` class="wide-only"`} x="${isLast ? 100 : round((index + 0.5) * width)}%" y="${HEIGHT + 20}" text-anchor="${isLast ? 'end' : 'middle'}">${formats.day(new Date(day))}</text>`;
  };
  return html`
<div class="plot">
  <p><output></output> <a hidden>${links.text}</a></p>
  <div class="plot-ticks" aria-hidden="true">${ticks.map((tick) => html`<span>${formats.number(tick)}</span>`)}</div>
  <svg height="${HEIGHT + DAYS_HEIGHT}" role="img" tabindex="0" aria-label="${label}">${ticks.map((tick) => html`<line x1="0" x2="100%" y1="${y(tick)}" y2="${y(tick)}"/>`)}${bars.map(bar)}${days.map(axis)}</svg>
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
type Colour =
  | 1
  | 2
  | 3
  | 4
  | 5
  | 'refused-1'
  | 'refused-2'
  | 'refused-3'
  | 'refused-4'
  | 'error-1'
  | 'error-2';

/** One colour of the plot, one column of the table. */
export interface Series {
  label: string;
  colour: Colour;
  /** By day, YYYY-MM-DD; a day without any has none. */
  counts: Map<string, number>;
  total: number;
}

/** The unit of a plot: the credits of charged calls, or errors. */
export type Counted = 'credits' | 'errors';

const KIND_COLOURS: Record<CallKind, Colour> = { search: 1, match: 2, lookup: 3, debts: 4, resolve: 5 };
const ERROR_COLOURS: Record<ErrorKind, Colour> = {
  'rate-limit-exceeded': 'refused-1',
  'monthly-quota-exceeded': 'refused-2',
  'key-limits': 'refused-4',
  '401': 'refused-3',
  '4xx': 'error-1',
  '5xx': 'error-2',
};

/** The counts a day, each kind that has any apart. */
export function seriesOf(rows: DailyCalls[], counted: Counted, messages: Messages): Series[] {
  const all =
    counted === 'credits'
      ? byKind(rows, CALL_KINDS, messages.callKinds, KIND_COLOURS)
      : byKind(rows, ERROR_KINDS, messages.errorKinds, ERROR_COLOURS);
  return all.filter(({ total }) => total > 0);
}

function byKind<Kind extends CallKind | ErrorKind>(
  rows: DailyCalls[],
  kinds: readonly Kind[],
  labels: Record<Kind, string>,
  colours: Record<Kind, Colour>,
): Series[] {
  return kinds.map((kind) => series(labels[kind], colours[kind], rows, (row) => row[kind]));
}

function series(
  label: string,
  colour: Colour,
  rows: DailyCalls[],
  count: (row: DailyCalls) => number,
): Series {
  const counts = new Map<string, number>();
  let total = 0;
  for (const row of rows) {
    const value = count(row);
    if (value > 0) counts.set(row.day, (counts.get(row.day) ?? 0) + value);
    total += value;
  }
  return { label, colour, counts, total };
}
