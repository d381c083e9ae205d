import type { MemberContext } from '../page-context.ts';
import { field } from '../request/forms.ts';
import { pathBelow } from '../request/return-path.ts';
import { type Html, html } from '../ui/html.ts';
import { chosenDays, type Days, monthOf, rangeQuery } from './range.ts';

/**
 * Links to the month before and the month after the chosen days, or before this month, and a form for other days.
 *
 * @param first the first day that has something to show; `null` if none has. @param hidden further parameters of the page
 */
export function daysChoice(
  { messages, formats, tools, url }: MemberContext,
  first: string | null,
  hidden: Record<string, string> = {},
): Html {
  const chosen = chosenDays(url);
  const days = chosen === 'invalid' ? null : chosen;
  const today = new Date().toISOString().slice(0, 10);
  const last = days === null || days.to > today ? today : days.to;
  const action = `${tools.base}${pathBelow(url)}`;
  const link = (month: Days, label: (month: string) => string) => {
    const query = `${new URLSearchParams(hidden)}&${rangeQuery(month)}`;
    return html`<a href="${action}?${query}">${label(formats.month(new Date(month.from)))}</a>`;
  };
  const [before, after] = [monthOf(last, -1), monthOf(last, 1)];
  const fault = chosen === 'invalid' && messages.daysInvalid;
  return html`
<div class="days choices">
  ${first !== null && first <= before.to && link(before, (month) => `← ${month}`)}
  ${after.from <= today && link(after, (month) => `${month} →`)}
  <details${fault && html` open`}>
    <summary>${messages.chooseDays}</summary>
    <form method="get" action="${action}">
      ${Object.entries(hidden).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
      ${field({ name: 'from', label: messages.firstDay, type: 'date', value: days?.from ?? '', fault })}
      ${field({ name: 'to', label: messages.lastDay, type: 'date', value: days?.to ?? today })}
      <button type="submit">${messages.show}</button>
    </form>
  </details>
</div>`;
}
