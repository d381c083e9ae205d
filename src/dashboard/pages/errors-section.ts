import type { MemberContext } from '../request/page-context.ts';
import { type HtmlValue, html } from '../ui/html.ts';
import type { DailyHistory, Errors } from '../usage/daily-calls.ts';

const KINDS = ['rateLimited', 'outOfCredits', 'clientErrors', 'serverErrors'] as const;

/** The part of the overview about calls that got an error, by kind and day. Nothing for an account without any. */
export function errorsSection({ messages, formats }: MemberContext, { from, rows }: DailyHistory): HtmlValue {
  const total = sumOf(rows);
  if (KINDS.every((kind) => total[kind] === 0)) return null;
  const days = [...Map.groupBy(rows, ({ day }) => day)]
    .map(([day, ofDay]) => ({ day, sum: sumOf(ofDay) }))
    .filter(({ sum }) => KINDS.some((kind) => sum[kind] > 0))
    .toReversed();
  const cells = (sum: Errors) => KINDS.map((kind) => html`<td>${formats.number(sum[kind])}</td>`);
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
    <div class="scroll" tabindex="0" role="group" aria-label="${messages.errorsTitle}">
    <table class="numbers">
      <thead><tr><th scope="col">${messages.day}</th>${KINDS.map((kind) => html`<th scope="col">${messages.errorColumns[kind]}</th>`)}</tr></thead>
      <tbody>${days.map(
        ({ day, sum }) => html`
        <tr><th scope="row"><time datetime="${day}">${formats.date(new Date(`${day}T00:00:00Z`))}</time></th>${cells(sum)}</tr>`,
      )}
      </tbody>
    </table>
    </div>
  </details>
</section>`;
}

function sumOf(rows: Errors[]): Errors {
  const sum = { rateLimited: 0, outOfCredits: 0, clientErrors: 0, serverErrors: 0 };
  for (const row of rows) for (const kind of KINDS) sum[kind] += row[kind];
  return sum;
}
