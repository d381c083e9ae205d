import { creditsLeft, keepsPurchased } from '../metering/accounts/account-store.ts';
import { latestProblems } from './activity/activity.ts';
import type { MemberContext, PageResponse } from './context.ts';
import { curl, EXAMPLE_QUERY } from './reference/code-samples.ts';
import { memberPage } from './request/layout.ts';
import { copyable, dot, type Html, type HtmlValue, html } from './ui/html.ts';
import { atZero, readAllowance } from './usage/allowance.ts';
import { callsSection } from './usage/calls.ts';
import { loadDailyCalls, rangeOf } from './usage/daily-calls.ts';

/** GET /dashboard: the credits that are left, keys, plan, the latest problems, and the credits a day. */
export async function showOverview(context: MemberContext): Promise<PageResponse> {
  const { account, tools, messages, url } = context;
  const range = rangeOf(url);
  const [history, problems, allowance] = await Promise.all([
    loadDailyCalls(tools.sql, account, range),
    latestProblems(context),
    readAllowance(context),
  ]);
  const isNew = history.first === null && account.used === 0 && !account.suspended;
  const body = html`
<h1>${messages.overview}</h1>
${isNew && firstSteps(context)}
${stockCard(context, allowance)}
${problems}
${callsSection(context, history, range)}`;
  return memberPage(context, { title: messages.overview, body });
}

function firstSteps({ messages, tools, account }: MemberContext): Html {
  const address = `${tools.publicUrl}/api/v1/companies?q=${EXAMPLE_QUERY}`;
  const call = curl({ address }).replace('$API_KEY', 'svc_…');
  const step = (title: HtmlValue, lead: string, done = false) =>
    html`<li${done && html` class="done"`}><strong>${title}</strong><span>${lead}</span></li>`;
  return html`
<section class="card steps" aria-labelledby="steps-title">
  <h2 id="steps-title">${messages.startTitle}</h2>
  <ol>
    ${step(html`<a href="${tools.base}/keys">${messages.startKey}</a>`, messages.startKeyLead, account.keys > 0)}
    ${step(html`<a href="${tools.base}/try">${messages.startCall}</a>`, messages.startCallLead)}
    ${step(html`<a href="#calls">${messages.startSee}</a>`, messages.plotEmptyLead)}
  </ol>
  ${account.keys > 0 && copyable(messages, { id: 'first-call', label: messages.startCall, text: call })}
</section>`;
}

/**
 * One row: the credits that are left, and the facts that belong to them. The keys and the plan lead to their pages, and the last
 * line says what happens when nothing is left.
 */
function stockCard(
  context: MemberContext,
  { state, lasts }: Awaited<ReturnType<typeof readAllowance>>,
): Html {
  const { messages, formats, tools, account } = context;
  const { number } = formats;
  const { used, usedPurchased, includedCredits, credits, period, spendPurchased, suspended } = account;
  const includedUsed = used - usedPurchased;
  const includedLeft = Math.max(0, includedCredits - used);
  // If Plus ends with this period, the next one is of the Free plan: nothing is reset.
  const isLastPeriod = account.planUntil !== null && account.planUntil <= period.end;
  const { happened, cost, next } = messages.states.purchasedOnly;
  const fact = (label: HtmlValue, value: HtmlValue) => html`<div><dt>${label}</dt> <dd>${value}</dd></div>`;
  return html`
<section class="card figure ${state}" id="figures">
  <div class="stock">
    <h2>${suspended ? messages.account : messages.available}</h2>
    ${suspended ? html`<p class="big">${messages.isSuspended}</p>` : html`<p class="big" data-figure="available">${number(creditsLeft(account))}</p>`}
    ${stockBar(messages.available, [includedLeft, spendPurchased ? credits : 0], includedUsed)}
  </div>
  <dl class="stock-facts">
    ${fact(html`${dot(1)}${messages.included}`, html`<strong>${messages.leftOf(number(includedLeft), number(includedCredits))}</strong>`)}
    ${fact(html`${dot(2)}<a href="${tools.base}/credits">${messages.purchased}</a>`, html`<strong data-figure="credits">${number(credits)}</strong>`)}
    ${fact(messages.usedInPeriod, html`<strong data-figure="used">${number(used)}</strong>`)}
    ${fact(isLastPeriod ? messages.ends : messages.reset, html`<strong>${messages.resetIn(formats.duration(period.end.getTime() - Date.now()))}</strong> <time datetime="${period.end.toISOString()}">${formats.day(period.end)}</time>`)}
    ${fact(html`<a href="${tools.base}/credits">${messages.plan}</a>`, html`<strong>${messages.plans[account.plan]}</strong>`)}
    ${fact(html`<a href="${tools.base}/keys">${messages.keys}</a>`, html`<strong data-figure="keys">${number(account.keys)}</strong> ${messages.keysInUse(number(account.keyLimit))}`)}
  </dl>
  ${!suspended && atZero(context, state === 'fine' ? lasts : null)}
  ${usedPurchased > 0 && html`<p data-beyond>${happened(number(usedPurchased))} ${cost} ${state === 'fine' && next}</p>`}
  ${keepsPurchased(account) && html`<p>${messages.notSpent} <a href="${tools.base}/credits/spending">${messages.turnOn}</a></p>`}
</section>`;
}

/** The available credits in their parts, and the used ones, as shares of one bar. The legend below has the numbers. */
function stockBar(label: string, left: number[], used: number): Html {
  const total = Math.max(1, used + left.reduce((sum, part) => sum + part, 0));
  let x = 0;
  const parts = left.map((part, index) => {
    const width = (part / total) * 100;
    x += width;
    return html`<rect fill="var(--series-${index + 1})" x="${(x - width).toFixed(2)}%" width="${width.toFixed(2)}%" height="100%"/>`;
  });
  return html`<svg class="stock-bar" role="img" aria-label="${label}">${parts}</svg>`;
}
