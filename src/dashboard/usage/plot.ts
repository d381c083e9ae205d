import * as Plot from '@observablehq/plot';
import { parseHTML } from 'linkedom';
import { DAY } from '../../units.ts';
import type { Formats } from '../ui/language.ts';
import { PLOTTED_DAYS } from './daily-calls.ts';
import type { Series } from './series.ts';

/** Observable Plot draws into any DOM; this one lives in the process and is only ever written to. */
const { document } = parseHTML('<!doctype html><html><body></body></html>');

/** Colours of the series in their order; the style sheet has them for dark and light. */
const COLORS = [
  'var(--series-1)',
  'var(--series-2)',
  'var(--series-3)',
  'var(--series-4)',
  'var(--series-5)',
];
const REST = 'var(--series-6)';

export interface PlotOptions {
  /** The last day, YYYY-MM-DD. */
  today: string;
  width: number;
  height: number;
  /** What a screen reader says instead. */
  label: string;
  formats: Formats;
}

/** Stacked bars of calls a day over the last 90 days, as an SVG without scripts and styles. */
export function plotDailyCalls(all: Series[], options: PlotOptions): string {
  const { today, width, height, label, formats } = options;
  const last = new Date(`${today}T00:00:00Z`);
  const first = new Date(last.getTime() - (PLOTTED_DAYS - 1) * DAY);
  const end = new Date(last.getTime() + DAY);
  const bars = all.flatMap((series) =>
    [...series.calls].map(([day, calls]) => ({
      day: new Date(`${day}T00:00:00Z`),
      calls,
      label: series.label,
    })),
  );
  const narrow = width < 500;
  // Noon, so that a label stands below the middle of its bar.
  const ticks = Array.from(
    { length: Math.ceil(PLOTTED_DAYS / (narrow ? 28 : 10)) },
    (_, index) => new Date(last.getTime() + DAY / 2 - index * (narrow ? 28 : 10) * DAY),
  ).filter((tick) => tick.getTime() > first.getTime() + 2 * DAY);
  const svg = Plot.plot({
    document,
    width,
    height,
    className: 'plot',
    marginLeft: 8 + 7 * formats.number(tallest(bars)).length + 10,
    marginRight: 4,
    marginTop: 12,
    marginBottom: 26,
    x: { type: 'utc', domain: [first, end], label: null },
    y: { label: null, nice: true, ...(bars.length === 0 && { domain: [0, 10] }) },
    color: { domain: all.map((series) => series.label), range: all.map((_, index) => COLORS[index] ?? REST) },
    marks: [
      Plot.gridY({ ticks: 4, strokeOpacity: 1, stroke: 'var(--line)' }),
      Plot.axisY({
        ticks: 4,
        tickSize: 0,
        label: null,
        tickFormat: (value: number) => (Number.isInteger(value) ? formats.number(value) : ''),
      }),
      Plot.axisX({
        ticks,
        tickSize: 0,
        tickPadding: 8,
        label: null,
        tickFormat: (day: Date) => formats.day(day),
      }),
      Plot.rectY(bars, {
        x: 'day',
        interval: 'day',
        y: 'calls',
        fill: 'label',
        order: all.map((series) => series.label),
        insetLeft: narrow ? 0.3 : 0.75,
        insetRight: narrow ? 0.3 : 0.75,
        ...(!narrow && {
          title: (bar: (typeof bars)[number]) =>
            `${formats.date(bar.day)}\n${bar.label}: ${formats.number(bar.calls)}`,
        }),
      }),
      Plot.ruleY([0], { stroke: 'var(--muted-line)' }),
    ],
  });
  // The style sheet of the page says what Plot's would: a strict Content-Security-Policy lets no inline one in.
  svg.querySelector('style')?.remove();
  // One image with one label; Plot's labels of its parts are not allowed inside it.
  for (const part of svg.querySelectorAll('[aria-label]')) part.removeAttribute('aria-label');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', label);
  svg.removeAttribute('font-family');
  for (const element of svg.querySelectorAll('*')) roundNumbers(element);
  return svg.outerHTML;
}

/** Attributes of coordinates. Text is left alone: a key's name can look like a number. */
const COORDINATES = ['x', 'y', 'x1', 'x2', 'y1', 'y2', 'width', 'height', 'transform', 'd'];

/** What is used of an element; the DOM's own types are not loaded. */
interface Attributes {
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
}

/** One decimal is enough for a pixel, and keeps the page small. */
function roundNumbers(element: Attributes): void {
  for (const name of COORDINATES) {
    const value = element.getAttribute(name);
    if (value === null) continue;
    const rounded = value.replace(/\d+\.\d{2,}/g, (number: string) =>
      String(Math.round(Number(number) * 10) / 10),
    );
    if (rounded !== value) element.setAttribute(name, rounded);
  }
}

function tallest(bars: { day: Date; calls: number }[]): number {
  const days = new Map<number, number>();
  for (const { day, calls } of bars) days.set(day.getTime(), (days.get(day.getTime()) ?? 0) + calls);
  return Math.max(10, ...days.values());
}
