import { utcDay } from '../../platform/dates.ts';
import type { MemberContext } from '../page-context.ts';
import { field } from '../request/forms.ts';
import { pathBelow } from '../request/return-path.ts';
import { type Html, html } from '../ui/html.ts';
import { monthOf, RANGES, type Range, rangeOf, rangeQuery } from './range.ts';

/** The most past months in a menu. */
const MAX_MONTHS = 12;

/**
 * The one choice of days: ranges up to today, past months, and a form for any other days. It is named by what is shown.
 *
 * @param range that is shown; @param split of the page's plot, which stays
 * @param first the first day that has something to show; `null` if none has
 */
export function daysMenu(
  { messages, formats, tools, url }: MemberContext,
  range: Range,
  split: string,
  first: string | null,
): Html {
  const fault = rangeOf(url) === 'invalid' && messages.daysInvalid;
  const today = utcDay(Date.now());
  const action = `${tools.base}${pathBelow(url)}`;
  const label = (shown: Range) => {
    if (shown === 'period') return messages.thisPeriod;
    if (typeof shown === 'number') return messages.days(String(shown));
    const { from, to } = monthOf(shown.from);
    const [start, end] = [new Date(shown.from), new Date(shown.to)];
    const isMonth = from === shown.from && to === shown.to;
    return isMonth ? formats.month(start) : `${formats.date(start)} – ${formats.date(end)}`;
  };
  const past = Array.from({ length: MAX_MONTHS }, (_, index) => monthOf(today, -index - 1));
  const months = past.filter(({ to }) => first !== null && first <= to);
  const link = (to: Range) =>
    html`<li><a href="${action}?by=${split}&amp;${rangeQuery(to)}#calls"${label(to) === label(range) && html` aria-current="true"`}>${label(to)}</a></li>`;
  const chosen = typeof range === 'object' ? range : { from: '', to: today };
  return html`
<details class="menu days"${fault && html` open`}>
  <summary><span class="unseen">${messages.range}: </span>${label(range)}</summary>
  <div>
    <ul>${[...RANGES, ...months].map(link)}</ul>
    <form method="get" action="${action}#calls">
      <input type="hidden" name="by" value="${split}">
      ${field({ name: 'from', label: messages.firstDay, type: 'date', value: chosen.from, fault })}
      ${field({ name: 'to', label: messages.lastDay, type: 'date', value: chosen.to })}
      <button type="submit">${messages.show}</button>
    </form>
  </div>
</details>`;
}
