import { type Plan, type PlanQuotas, readPlan } from '../../metering/accounts/plan.ts';
import type { MemberContext } from '../page-context.ts';
import type { PageResponse } from '../request/context.ts';
import { memberPage } from '../request/layout.ts';
import { type Html, html } from '../ui/html.ts';
import { buyLink, type Column, contactLink, copyable, moment, table } from '../ui/parts.ts';
import { type CreditEntry, creditHistory, entriesOf, grantSpan, loadGrants, nextAfter } from './credits.ts';
import { separatorQuery } from './csv.ts';
import { daysMenu } from './days.ts';
import { pageOfRows } from './paging.ts';
import { chosenDays, rangeQuery } from './range.ts';

/** GET /dashboard/credits: the plans, the way to more credits, and the history of purchased credits. */
export async function showCredits(context: MemberContext): Promise<PageResponse> {
  const { messages, formats, tools, account, url } = context;
  const chosen = chosenDays(url);
  const days = chosen === 'invalid' ? null : chosen;
  const [free, plus, { first, ...span }] = await Promise.all([
    readPlan(tools.sql, 'free'),
    readPlan(tools.sql, 'plus'),
    grantSpan(tools.sql, account.id, days),
  ]);
  const { rows: grants, links } = await pageOfRows(context, (slice) =>
    loadGrants(tools.sql, account.id, slice, span),
  );
  const next = await nextAfter(tools.sql, account, grants[0]);
  const rows = entriesOf(creditHistory(grants, next), days);
  const empty = html`
<div class="card empty"><h3>${messages.creditsEmpty}</h3><p>${messages.creditsEmptyLead(formats.number(account.includedCredits))}</p></div>`;
  const body = html`
<h1>${messages.creditsTitle}</h1>
${plansCard(context, { free, plus })}
<section class="card" aria-labelledby="spending-title">
  <h2 id="spending-title">${messages.spending}</h2>
  <p>${account.spendPurchased ? messages.spendingOn : messages.spendingOff}</p>
  <p><a class="button quiet" href="${tools.base}/credits/spending">${account.spendPurchased ? messages.turnOff : messages.turnOn}</a></p>
</section>
<div class="heading">
  <h2>${messages.history}</h2>
  <div class="choices">
    <span class="badge">${messages.purchased}: <strong data-figure="credits">${formats.number(account.credits)}</strong></span>
    ${first !== null && daysMenu(context, { first, range: null })}
  </div>
</div>
${first === null ? empty : html`${history(context, rows)}${links}<p><a href="${tools.base}/credits.csv?${days && `${rangeQuery(days)}&`}${separatorQuery(context)}" download>${messages.csv}</a></p>`}`;
  const status = chosen === 'invalid' ? 422 : 200;
  return memberPage(context, { title: messages.creditsTitle, body, status });
}

function plansCard(context: MemberContext, plans: Record<Plan, PlanQuotas>): Html {
  const { messages, formats, account } = context;
  const buy = buyLink(context);
  const current = plans[account.plan];
  const hasOwnLimits =
    account.includedCredits !== current.includedCredits ||
    account.requestsPerMinute !== current.requestsPerMinute;
  const row = (label: string, value: (plan: PlanQuotas) => number) => html`
    <tr><th scope="row">${label}</th><td>${formats.number(value(plans.free))}</td><td>${formats.number(value(plans.plus))}</td></tr>`;
  const head = (plan: Plan) => html`
    <th scope="col">${messages.plans[plan]}${plan === account.plan && html` <span class="badge">${messages.yourPlan}</span>`}</th>`;
  return html`
<section class="card" aria-label="${messages.plansLead}">
  <table class="plans">
    <thead><tr><td></td>${head('free')}${head('plus')}</tr></thead>
    <tbody>
      ${row(messages.callsIncluded, (plan) => plan.includedCredits)}
      ${row(messages.callsPerMinute, (plan) => plan.requestsPerMinute)}
      ${row(messages.keys, (plan) => plan.keyLimit)}
    </tbody>
  </table>
  ${account.planUntil !== null && html`<p>${planEnd(context, plans.free)}</p>`}
  ${hasOwnLimits && html`<p data-own-limits>${messages.ownLimits(formats.number(account.includedCredits), formats.number(account.requestsPerMinute))}</p>`}
  ${buy !== null && html`<p><strong>${buy}</strong></p>`}
  <p>${buy === null ? messages.byHand : messages.plansByHand} ${contactLink(context)}</p>
  ${copyable(messages, { id: 'account-id', label: messages.account, text: account.id })}
</section>`;
}

/** The sentence on the end of a Plus subscription and the limits after it; `null` without an end. */
export function planEnd({ messages, formats, account }: MemberContext, free: PlanQuotas): string | null {
  if (account.planUntil === null) return null;
  const { happened, next } = messages.states.lapsesSoon;
  const after = next(formats.number(free.includedCredits), formats.number(free.keyLimit));
  return `${happened(formats.end(account.planUntil))} ${after}`;
}

function history({ messages, formats }: MemberContext, entries: CreditEntry[]): Html {
  const when = ({ kind, from, until }: CreditEntry) => {
    if (kind === 'grant') return moment(formats, from);
    return html`${moment(formats, from)} – ${until === null ? messages.now : moment(formats, until)}`;
  };
  const columns: Column<CreditEntry>[] = [
    [messages.dateUtc, when],
    [messages.credits, ({ credits }) => html`<strong>${formats.signed(credits)}</strong>`, 'amount'],
    [messages.balance, ({ balance }) => formats.number(balance), 'amount'],
    [messages.referenceOf, ({ reference }) => (reference ? html`<code>${reference}</code>` : '–')],
    [messages.note, ({ kind, note }) => (kind === 'spent' ? messages.spentOnCalls : note || '–')],
  ];
  return html`<div class="card list">${table(columns, entries)}</div>`;
}
