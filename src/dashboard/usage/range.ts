import { utcDay } from '../../platform/dates.ts';
import { DAY } from '../../platform/units.ts';
import type { MemberContext } from '../context.ts';
import { pathBelow } from '../request/return-path.ts';
import { type Html, html } from '../ui/html.ts';

/** Days in UTC, each YYYY-MM-DD, both included. */
export interface Days {
  from: string;
  to: string;
}

const RANGES = [7, 30, 90, 'period'] as const;

/** A calendar month in UTC, YYYY-MM. */
export type Month = `${string}-${string}`;

/** The range of the plots, the tables and the CSV: so many days with today, the current period, or a month. */
export type Range = (typeof RANGES)[number] | Month;

/** Whether a range is a month, which may be over. */
export const isMonth = (range: Range): range is Month => typeof range === 'string' && range !== 'period';

const MONTH = /^20\d\d-(0[1-9]|1[0-2])$/;

/** The range in `?days=`, by default 90 days. */
export function rangeOf({ searchParams }: URL): Range {
  const days = searchParams.get('days') ?? '';
  return MONTH.test(days) ? (days as Month) : (RANGES.find((range) => String(range) === days) ?? 90);
}

/** The next day. */
export const dayAfter = (day: string): string => utcDay(Date.parse(day) + DAY);

/** The month so many months before the one of a day. */
export function monthBefore(day: string, months: number): Month {
  const [year, month] = day.split('-').map(Number) as [number, number];
  return utcDay(Date.UTC(year, month - 1 - months, 1)).slice(0, 7) as Month;
}

/** The days of a month. */
export function daysOfMonth(range: Month): Days {
  const [year, month] = range.split('-').map(Number) as [number, number];
  return { from: `${range}-01`, to: utcDay(Date.UTC(year, month, 0)) };
}

/** The most past months in the menu. */
const MAX_MONTHS = 12;

/**
 * The one choice of days: ranges up to today, and past months. It is named by what is shown.
 *
 * @param range that is shown
 * @param first the first day that has something to show; `null` if none has
 */
export function daysMenu(
  { messages, formats, tools, url }: MemberContext,
  range: Range,
  first: string | null,
): Html {
  const today = utcDay(Date.now());
  const label = (shown: Range) => {
    if (shown === 'period') return messages.thisPeriod;
    return isMonth(shown) ? formats.month(new Date(shown)) : messages.days(String(shown));
  };
  const past = Array.from({ length: MAX_MONTHS }, (_, index) => monthBefore(today, index + 1));
  const months = past.filter((month) => first !== null && first <= daysOfMonth(month).to);
  const link = (to: Range) =>
    html`<li><a href="${tools.base}${pathBelow(url)}?days=${to}#calls"${to === range && html` aria-current="true"`}>${label(to)}</a></li>`;
  return html`
<details class="menu days">
  <summary><span class="unseen">${messages.range}: </span>${label(range)}</summary>
  <div><ul>${[...RANGES, ...months].map(link)}</ul></div>
</details>`;
}
