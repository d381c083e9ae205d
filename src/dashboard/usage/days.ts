import type { MemberContext } from '../page-context.ts';
import { field } from '../request/forms.ts';
import { pathBelow } from '../request/return-path.ts';
import { type Html, html } from '../ui/html.ts';
import { chosenDays, monthOf, RANGES, type Range, rangeQuery } from './range.ts';

/** The most past months in a menu. */
const MAX_MONTHS = 12;

interface DaysMenu {
  /** The first day that has something to show; `null` if none has. */
  first: string | null;
  /** The range that is shown; `null` if the page has none but chosen days, and shows all. */
  range: Range | null;
  /** Further parameters of the page. */
  hidden?: Record<string, string>;
}

/** The one choice of days: ranges up to today, past months, and a form for any other days. It is named by what is shown. */
export function daysMenu(context: MemberContext, { first, range, hidden = {} }: DaysMenu): Html {
  const { messages, formats, tools, url } = context;
  const chosen = chosenDays(url);
  const days = chosen === 'invalid' ? null : chosen;
  const fault = chosen === 'invalid' && messages.daysInvalid;
  const today = new Date().toISOString().slice(0, 10);
  const action = `${tools.base}${pathBelow(url)}`;
  const label = (shown: Range | null) => {
    if (shown === null) return messages.allDays;
    if (typeof shown !== 'object')
      return shown === 'period' ? messages.thisPeriod : messages.days(String(shown));
    const { from, to } = monthOf(shown.from);
    const [start, end] = [new Date(shown.from), new Date(shown.to)];
    const isMonth = from === shown.from && to === shown.to;
    return isMonth ? formats.month(start) : `${formats.date(start)} – ${formats.date(end)}`;
  };
  const past = Array.from({ length: MAX_MONTHS }, (_, index) => monthOf(today, -index - 1));
  const months = past.filter(({ to }) => first !== null && first <= to);
  const shown = days ?? range;
  const link = (to: Range | null) => {
    const query = new URLSearchParams(`${new URLSearchParams(hidden)}&${to === null ? '' : rangeQuery(to)}`);
    return html`<li><a href="${action}?${query.toString()}"${label(to) === label(shown) && html` aria-current="true"`}>${label(to)}</a></li>`;
  };
  return html`
<details class="menu days"${fault && html` open`}>
  <summary><span class="unseen">${messages.range}: </span>${label(shown)}</summary>
  <div>
    <ul>${[...(range === null ? [null] : RANGES), ...months].map(link)}</ul>
    <form method="get" action="${action}">
      ${Object.entries(hidden).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
      ${field({ name: 'from', label: messages.firstDay, type: 'date', value: days?.from ?? '', fault })}
      ${field({ name: 'to', label: messages.lastDay, type: 'date', value: days?.to ?? today })}
      <button type="submit">${messages.show}</button>
    </form>
  </div>
</details>`;
}
