import { changeLimits } from '../../metering/accounts/changes.ts';
import { type Plan, type PlanQuotas, readPlan } from '../../metering/accounts/plan.ts';
import { changesOf, countAttempt } from '../auth/limits.ts';
import { actorOf } from '../auth/members.ts';
import type { MemberContext, PageResponse } from '../context.ts';
import { formHandlers, redirectTo, tooMany } from '../request/forms.ts';
import { formPage, memberPage } from '../request/layout.ts';
import { type Html, html } from '../ui/html.ts';
import { buyLink, type Column, contactLink, copyable, moment, table } from '../ui/parts.ts';
import { type CreditEntry, creditHistory, loadGrants } from './credits.ts';
import { pageOfRows } from './paging.ts';

/** GET /dashboard/credits: the plans, the way to more credits, and the history of purchased credits. */
export async function showCredits(context: MemberContext): Promise<PageResponse> {
  const { messages, formats, tools, account } = context;
  const [free, plus, { rows: grants, links }] = await Promise.all([
    readPlan(tools.sql, 'free'),
    readPlan(tools.sql, 'plus'),
    pageOfRows(context, (slice) => loadGrants(tools.sql, account.id, slice)),
  ]);
  const empty = html`<div class="card empty"><h3>${messages.creditsEmpty}</h3></div>`;
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
  <span class="badge">${messages.purchased}: <strong data-figure="credits">${formats.number(account.credits)}</strong></span>
</div>
${grants.length === 0 && !links ? empty : html`${history(context, creditHistory(grants))}${links}<p><a href="${tools.base}/credits.csv" download>${messages.csv}</a></p>`}`;
  return memberPage(context, { title: messages.creditsTitle, body });
}

function plansCard(context: MemberContext, plans: Record<Plan, PlanQuotas>): Html {
  const { messages, formats, account } = context;
  const { plusPrice, creditsPrice } = context.tools.config;
  const buy = buyLink(context, 'button');
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
      ${row(messages.creditsIncluded, (plan) => plan.includedCredits)}
      ${row(messages.requestsPerMinute, (plan) => plan.requestsPerMinute)}
      ${row(messages.keys, (plan) => plan.keyLimit)}
      ${plusPrice !== null && html`<tr data-prices><th scope="row">${messages.price}</th><td>–</td><td>${plusPrice[messages.language]}</td></tr>`}
    </tbody>
  </table>
  ${creditsPrice !== null && html`<p data-prices>${messages.purchased}: ${creditsPrice[messages.language]}</p>`}
  ${account.planUntil !== null && html`<p>${planEnd(context, plans.free)}</p>`}
  ${hasOwnLimits && html`<p data-own-limits>${messages.ownLimits(formats.number(account.includedCredits), formats.number(account.requestsPerMinute))}</p>`}
  ${buy !== null && html`<p>${buy}</p>`}
  <p>${messages.byHand} ${contactLink(context)}</p>
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
    [messages.referenceShort, ({ reference }) => (reference ? html`<code>${reference}</code>` : '–')],
    [messages.note, ({ kind, note }) => (kind === 'spent' ? messages.spentBeyond : note || '–')],
  ];
  return html`<div class="card list">${table(columns, entries)}</div>`;
}

/**
 * /dashboard/credits/spending: whether purchased credits are spent. It asks first, because turning it off stops the calls of an
 * account that has used its allowance.
 */
export const spending = formHandlers({
  show(context: MemberContext, refusal) {
    const { messages, account, formats } = context;
    const isOn = account.spendPurchased;
    const stopsCalls = isOn && account.used >= account.includedCredits;
    return formPage(context, {
      title: messages.spending,
      lead: html`
<p>${isOn ? messages.spendingOn : messages.spendingOff}</p>
${stopsCalls && html`<p class="notice bad">${messages.spendingStops(formats.instant(account.period.end))}</p>`}`,
      hidden: { on: isOn ? 'no' : 'yes' },
      button: isOn ? messages.turnOff : messages.turnOn,
      ...(stopsCalls && { look: 'bad' }),
      cancel: '/credits',
      refusal,
    });
  },
  async submit(context) {
    const { tools, account, user, sent } = context;
    const spendPurchased = sent('on') === 'yes';
    if (spendPurchased !== account.spendPurchased) {
      const refusal = tooMany(context, await countAttempt(tools.sql, changesOf(user, 'limits')));
      if (refusal !== null) return refusal;
      await changeLimits(tools.sql, account.id, { spendPurchased }, actorOf(user));
    }
    return redirectTo(context, '/credits?done=saved');
  },
});
