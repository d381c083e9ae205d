import { CALL_KINDS, type CallKind } from '../../http/call-kind.ts';
import { ERROR_KINDS, type ErrorKind } from '../../http/error-kind.ts';
import { DAY } from '../../platform/units.ts';
import { type Html, html } from '../ui/html.ts';
import type { Formats } from '../ui/language.ts';
import type { Messages } from '../ui/messages.ts';
import { callsOf, type DailyCalls, OTHER_KEYS } from './daily-calls.ts';
import type { Days } from './range.ts';

/** Height of the bars' area and of the line of days below it, in CSS pixels. */
const HEIGHT = 232;
const DAYS_HEIGHT = 28;
/** The most spaces between gridlines. */
const MAX_INTERVALS = 5;
/** Few days have bars as wide as those of a week, and empty room behind them. */
const MIN_SLOTS = 7;

/**
 * Stacked bars of calls a day, as an SVG that fills its place's width. x is in percent and y in pixels, so that no text is
 * scaled. The style sheet has the colours.
 *
 * @param label the text for a screen reader
 */
export function plotDailyCalls(all: Series[], { from, to }: Days, label: string, formats: Formats): Html {
  const first = Date.parse(from);
  const count = Math.round((Date.parse(to) - first) / DAY) + 1;
  const days = Array.from({ length: count }, (_, index) => {
    const day = new Date(first + index * DAY);
    const name = day.toISOString().slice(0, 10);
    const parts = all.map((series) => ({ ...series, calls: series.calls.get(name) ?? 0 }));
    const shown = parts.filter(({ calls }) => calls > 0);
    return { day, parts: shown, total: shown.reduce((sum, { calls }) => sum + calls, 0) };
  });
  const { step: interval, top } = scaleOf(Math.max(...days.map(({ total }) => total)));
  const slot = 100 / Math.max(MIN_SLOTS, count);
  const y = (calls: number) => round(HEIGHT * (1 - calls / top));
  const ticks = Array.from({ length: top / interval + 1 }, (_, index) => top - interval * index);
  // About nine days have a label, counted from the last. A phone has room for every third label.
  const step = Math.ceil(count / 9);
  const bar = ({ day, parts, total }: (typeof days)[number], index: number) => {
    if (total === 0) return false;
    let below = 0;
    const rects = parts.map(({ calls, colour }) => {
      below += calls;
      return html`<rect class="series-${colour}" x="${round((index + (count > 40 ? 0.1 : 0.2)) * slot)}%" width="${round(slot * (count > 40 ? 0.8 : 0.6))}%" y="${y(below)}" height="${round((HEIGHT * calls) / top)}"/>`;
    });
    const lines = [{ label: formats.date(day), calls: total }, ...parts].map(
      ({ label, calls }) => `${label}: ${formats.number(calls)}`,
    );
    return html`<g><title>${lines.join('\n')}</title><rect class="day" x="${round(index * slot)}%" width="${round(slot)}%" y="0" height="${HEIGHT}"/>${rects}</g>`;
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

/** The dimension that the plot and the table split calls by. */
export type Split = 'kind' | 'key';

/** One colour of the plot, one column of the table. */
export interface Series {
  label: string;
  /** From 1 to {@link MAX_SERIES}. */
  colour: number;
  /** By day, YYYY-MM-DD; a day without calls has none. */
  calls: Map<string, number>;
  total: number;
}

/** Series of the plot, each with its colour. If there are more keys, those with the fewest calls share the last one. */
export const MAX_SERIES = 6;

/** Calls a day: each kind that has any apart, or each key apart, the busiest first. */
export function seriesOf(rows: DailyCalls[], split: Split, messages: Messages): Series[] {
  return split === 'key' ? byKey(rows, messages) : byKind(rows, CALL_KINDS, messages.callKinds, [1, 2, 3, 4]);
}

/** Error answers a day, each kind that has any apart. */
export function errorSeriesOf(rows: DailyCalls[], messages: Messages): Series[] {
  return byKind(rows, ERROR_KINDS, messages.errorKinds, [2, 6, 3, 4, 5]);
}

/** A kind keeps its colour when another has no calls. */
function byKind<Kind extends CallKind | ErrorKind>(
  rows: DailyCalls[],
  kinds: readonly Kind[],
  labels: Record<Kind, string>,
  colours: number[],
): Series[] {
  return kinds
    .map((kind, index) => ({ colour: colours[index]!, ...series(labels[kind], rows, (row) => row[kind]) }))
    .filter(({ total }) => total > 0);
}

function byKey(rows: DailyCalls[], messages: Messages): Series[] {
  const paid = rows.filter((row) => callsOf(row) > 0);
  const { own: ofOwn = [], others = [] } = Object.groupBy(paid, ({ keyId }) =>
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
    return { colour: index + 1, ...one, label: count === 1 ? one.label : `${one.label} (${count})` };
  });
}

function series(label: string, rows: DailyCalls[], count: (row: DailyCalls) => number) {
  const counted = rows.filter((row) => count(row) > 0);
  const calls = new Map<string, number>();
  for (const row of counted) calls.set(row.day, (calls.get(row.day) ?? 0) + count(row));
  return { label, calls, total: counted.reduce((sum, row) => sum + count(row), 0) };
}

/** The name of a key, or the beginning of its secret. */
function keyLabel(key: DailyCalls, messages: Messages): string {
  if (key.keyId === null) return messages.dashboard;
  return key.keyName === '' ? `${key.keyStart}…` : key.keyName;
}
