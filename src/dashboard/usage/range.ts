import { isRealDate, utcDay } from '../../platform/dates.ts';
import { DAY } from '../../platform/units.ts';

/** Days in UTC, each YYYY-MM-DD, both included. */
export interface Days {
  from: string;
  to: string;
}

/** The range of the plot, the tables and the CSV: so many days with today, the current period, or chosen days. */
export type Range = (typeof RANGES)[number] | Days;

export const RANGES = [7, 30, 90, 'period'] as const;

/** A plot of more days would have bars thinner than a pixel. */
const MAX_DAYS = 366;

/** The days that a reader has chosen, `?from=&to=`: `null` for none, `invalid` for those that are no days or over a year. */
function chosenDays({ searchParams }: URL): Days | 'invalid' | null {
  const [from, to] = [searchParams.get('from'), searchParams.get('to')];
  if (from === null && to === null) return null;
  if (from === null || to === null || !isRealDate(from) || !isRealDate(to)) return 'invalid';
  const count = (Date.parse(to) - Date.parse(from)) / DAY + 1;
  return count >= 1 && count <= MAX_DAYS ? { from, to } : 'invalid';
}

/** The chosen days, or the range in `?days=`, by default 90 days. */
export function rangeOf(url: URL): Range | 'invalid' {
  const days = url.searchParams.get('days');
  return chosenDays(url) ?? RANGES.find((range) => String(range) === days) ?? 90;
}

/** The part of an address that says the range. */
export function rangeQuery(range: Range): string {
  return typeof range === 'object' ? `from=${range.from}&to=${range.to}` : `days=${range}`;
}

/** The next day. */
export const dayAfter = (day: string): string => utcDay(Date.parse(day) + DAY);

/** The calendar month of a day, or the one so many months later. */
export function monthOf(day: string, later = 0): Days {
  const [year, month] = day.split('-').map(Number) as [number, number];
  const iso = (months: number, date: number) => utcDay(Date.UTC(year, month - 1 + months, date));
  return { from: iso(later, 1), to: iso(later + 1, 0) };
}
