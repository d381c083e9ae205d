import type { MemberContext } from '../request/page-context.ts';
import { type HtmlValue, html } from '../ui/html.ts';
import { tableByDay } from '../ui/parts.ts';
import type { DailyHistory, Errors } from '../usage/daily-calls.ts';

const KINDS = ['rateLimited', 'outOfCredits', 'clientErrors', 'serverErrors'] as const;

/** The part of the overview about calls that got an error, by kind and day. Nothing for an account without any. */
export function errorsSection(context: MemberContext, { from, rows }: DailyHistory): HtmlValue {
  const { messages, formats } = context;
  const total = sumOf(rows);
  if (countsOf(total).every((count) => count === 0)) return null;
  const days = [...Map.groupBy(rows, ({ day }) => day)]
    .map(([day, ofDay]): [string, number[]] => [day, countsOf(sumOf(ofDay))])
    .filter(([, counts]) => counts.some((count) => count > 0))
    .toReversed();
  return html`
<section class="card calls" id="errors" aria-labelledby="errors-title" data-live>
  <h2 id="errors-title">${messages.errorsTitle}</h2>
  <p class="lead">${messages.errorsLead} · ${messages.plotSince(formats.date(new Date(`${from}T00:00:00Z`)))}</p>
  <dl class="facts">${KINDS.map(
    (kind) =>
      html`<div><dt>${messages.errorKinds[kind]}</dt><dd data-errors="${kind}">${formats.number(total[kind])}</dd></div>`,
  )}</dl>
  <details>
    <summary>${messages.table}</summary>
    ${tableByDay(context, { label: messages.errorsTitle, headings: KINDS.map((kind) => messages.errorKinds[kind]), rows: days })}
  </details>
</section>`;
}

const countsOf = (sum: Errors) => KINDS.map((kind) => sum[kind]);

function sumOf(rows: Errors[]): Errors {
  const sum = { rateLimited: 0, outOfCredits: 0, clientErrors: 0, serverErrors: 0 };
  for (const row of rows) for (const kind of KINDS) sum[kind] += row[kind];
  return sum;
}
