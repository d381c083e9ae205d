import { utcDay } from '../../platform/dates.ts';
import type { MemberContext } from '../context.ts';
import { pathBelow } from '../request/return-path.ts';
import { type Html, html } from '../ui/html.ts';
import { daysOfMonth, isMonth, monthBefore, RANGES, type Range } from './range.ts';

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
