import { type Plan, type PlanQuotas, readPlan } from '../../accounts/plan.ts';
import type { MemberVisit, Reply } from '../request/visit.ts';
import { contactLink } from '../ui/contact.ts';
import { type Html, html } from '../ui/html.ts';
import { copyable, memberPage } from '../ui/layout.ts';
import { creditHistory, type Entry, loadGrants } from '../usage/credit-history.ts';
import { separatorQuery } from './csv.ts';

/** GET /dashboard/credits: the plans, who adds credits, and the history of purchased credits. */
export async function showCredits(visit: MemberVisit): Promise<Reply> {
  const { texts, formats, tools, account } = visit;
  const [free, plus, grants] = await Promise.all([
    readPlan(tools.sql, 'free'),
    readPlan(tools.sql, 'plus'),
    loadGrants(tools.sql, account.id),
  ]);
  const entries = creditHistory(grants, account.credits);
  const empty = html`
<div class="card empty"><h3>${texts.creditsEmpty}</h3><p>${texts.creditsEmptyLead(formats.number(account.includedCredits))}</p></div>`;
  const body = html`
<h1>${texts.creditsTitle}</h1>
${plansCard(visit, { free, plus })}
<div class="heading">
  <h2>${texts.history}</h2>
  <span class="badge">${texts.purchased}: <strong data-figure="credits">${formats.number(account.credits)}</strong></span>
</div>
${entries.length === 0 ? empty : html`${history(visit, entries)}<p><a href="${tools.base}/credits.csv?${separatorQuery(visit)}" download>${texts.csv}</a></p>`}`;
  return memberPage(visit, { section: '/credits', title: texts.creditsTitle, body });
}

function plansCard(visit: MemberVisit, plans: Record<Plan, PlanQuotas>): Html {
  const { texts, formats, account } = visit;
  const current = plans[account.plan];
  const hasOwnLimits =
    account.includedCredits !== current.includedCredits ||
    account.requestsPerMinute !== current.requestsPerMinute;
  const number = (value: number | null) => (value === null ? texts.unlimited : formats.number(value));
  const row = (label: string, value: (plan: PlanQuotas) => number | null) => html`
    <tr><th scope="row">${label}</th><td>${number(value(plans.free))}</td><td>${number(value(plans.plus))}</td></tr>`;
  const head = (plan: Plan) => html`
    <th scope="col">${texts.plans[plan]}${plan === account.plan && html` <span class="badge">${texts.yourPlan}</span>`}</th>`;
  return html`
<section class="card" aria-label="${texts.plansLead}">
  <table class="plans">
    <thead><tr><td></td>${head('free')}${head('plus')}</tr></thead>
    <tbody>
      ${row(texts.callsIncluded, (plan) => plan.includedCredits)}
      ${row(texts.callsPerMinute, (plan) => plan.requestsPerMinute)}
      ${row(texts.keys, (plan) => plan.keyLimit)}
    </tbody>
  </table>
  ${account.planUntil !== null && html`<p><strong>${planEnd(visit, plans.free)}</strong></p>`}
  ${hasOwnLimits && html`<p>${texts.ownLimits}</p>`}
  <p>${texts.byHand} ${contactLink(visit)}</p>
  ${copyable(visit, 'account-id', texts.accountId, account.id)}
</section>`;
}

/** That the Plus subscription ends, and what the account has afterwards. */
export function planEnd({ texts, formats, account }: MemberVisit, free: PlanQuotas): string | null {
  if (account.planUntil === null) return null;
  return texts.planEnds(
    formats.date(account.planUntil),
    formats.number(free.includedCredits),
    free.keyLimit === null ? null : formats.number(free.keyLimit),
  );
}

function history({ texts, formats }: MemberVisit, entries: Entry[]): Html {
  const moment = (at: Date) => html`<time datetime="${at.toISOString()}">${formats.moment(at)}</time>`;
  const signed = (credits: number) => `${credits < 0 ? '−' : '+'}${formats.number(Math.abs(credits))}`;
  const line = (entry: Entry) => html`
    <tr>
      <th scope="row">${entry.kind === 'grant' ? moment(entry.at) : html`${moment(entry.from)} – ${entry.until === null ? texts.now : moment(entry.until)}`}</th>
      <td class="amount" data-label="${texts.amount}"><strong>${signed(entry.credits)}</strong></td>
      <td class="amount" data-label="${texts.balance}">${formats.number(entry.balance)}</td>
      <td data-label="${texts.referenceOf}">${entry.kind === 'grant' && entry.reference !== null ? html`<code>${entry.reference}</code>` : '–'}</td>
      <td data-label="${texts.note}"><span>${entry.kind === 'grant' ? entry.note || '–' : texts.spentOnCalls}</span></td>
    </tr>`;
  return html`
<div class="card list">
<table class="stacked ledger">
  <thead><tr><th scope="col">${texts.dateUtc}</th><th scope="col" class="amount">${texts.amount}</th><th scope="col" class="amount">${texts.balance}</th><th scope="col">${texts.referenceOf}</th><th scope="col">${texts.note}</th></tr></thead>
  <tbody>${entries.map(line)}
  </tbody>
</table>
</div>`;
}
