import { CALL_KINDS } from '../../http/call-kind.ts';
import { type AccountDetails, creditsLeft } from '../../metering/accounts/account-store.ts';
import { changeLimits } from '../../metering/accounts/changes.ts';
import { type Plan, type PlanQuotas, readPlan } from '../../metering/accounts/plan.ts';
import { inSlice, type Slice } from '../../platform/postgres/batches.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { DAY } from '../../platform/units.ts';
import { memberForm } from '../auth/form-page.ts';
import { changesOf } from '../auth/limits.ts';
import { actorOf } from '../auth/members.ts';
import type { MemberContext, PageResponse } from '../context.ts';
import { redirectTo } from '../request/forms.ts';
import { memberPage } from '../request/layout.ts';
import { buyLink, type Column, contactLink, copyable, type Html, html, moment, table } from '../ui/html.ts';
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
${
  (grants.length > 0 || !account.spendPurchased) &&
  html`
<section class="card" aria-labelledby="spending-title">
  <h2 id="spending-title">${messages.spending}</h2>
  <p>${account.spendPurchased ? messages.spendingOn : messages.spendingOff}</p>
  <p><a class="button quiet" href="${tools.base}/credits/spending">${account.spendPurchased ? messages.turnOff : messages.turnOn}</a></p>
</section>`
}
<div class="heading">
  <h2>${messages.history}</h2>
  <span class="badge">${messages.purchased}: <strong data-figure="credits">${formats.number(account.credits)}</strong></span>
</div>
${grants.length === 0 && !links ? empty : html`${history(context, creditHistory(grants))}${links}`}`;
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
  ${account.planUntil !== null && html`<p>${planEnd(context, account.planUntil, plans.free)}</p>`}
  ${hasOwnLimits && html`<p data-own-limits>${messages.ownLimits(formats.number(account.includedCredits), formats.number(account.requestsPerMinute))}</p>`}
  ${buy !== null && html`<p>${buy}</p>`}
  <p>${messages.byHand} ${contactLink(context)}</p>
  ${copyable(messages, { id: 'account-id', label: messages.account, text: account.id })}
</section>`;
}

/** The sentence on the end of a Plus subscription and the limits after it. */
function planEnd({ messages, formats }: MemberContext, end: Date, free: PlanQuotas): string {
  const { happened, next } = messages.states.lapsesSoon;
  const after = next(formats.number(free.includedCredits), formats.number(free.keyLimit));
  return `${happened(formats.end(end))} ${after}`;
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

/** Whether a sent form wants another state of the switch than the present one. */
const isSwitched = ({ sent, account }: MemberContext) => (sent('on') === 'yes') !== account.spendPurchased;

/**
 * /dashboard/credits/spending: whether purchased credits are spent. It asks first, because turning it off stops the calls of an
 * account that has used its allowance.
 */
export const spending = memberForm({
  page({ messages, account, formats }) {
    const isOn = account.spendPurchased;
    const stopsCalls = isOn && account.used >= account.includedCredits;
    return {
      title: messages.spending,
      lead: html`
<p>${isOn ? messages.spendingOn : messages.spendingOff}</p>
${stopsCalls && html`<p class="notice bad">${messages.spendingStops(formats.instant(account.period.end))}</p>`}`,
      hidden: { on: isOn ? 'no' : 'yes' },
      button: isOn ? messages.turnOff : messages.turnOn,
      ...(stopsCalls && { look: 'bad' }),
      cancel: '/credits',
    };
  },
  limit: (context) => (isSwitched(context) ? [changesOf(context.user, 'limits')] : []),
  async submit(context) {
    const { tools, account, user } = context;
    const spendPurchased = !account.spendPurchased;
    if (isSwitched(context)) await changeLimits(tools.sql, account.id, { spendPurchased }, actorOf(user));
    return redirectTo(context, '/credits?done=saved');
  },
});

/** Days whose calls give the pace of an account. */
const PACE_DAYS = 7;

/**
 * The time when the account's credits are spent at its pace: the calls a day of the last seven days, or since its first call in
 * them, but at least over one day.
 *
 * @returns `'enough'` if credits last until the period ends; `null` if none are being spent
 */
export async function forecast(sql: Sql, account: AccountDetails): Promise<Date | 'enough' | null> {
  const [row] = await sql<{ perDay: number | null }[]>`
    SELECT sum(calls) / greatest(1, extract(epoch FROM now() - min(day)::timestamp AT TIME ZONE 'UTC') / 86400)::float8 AS "perDay"
    FROM account_counts
    WHERE account_id = ${account.id} AND kind IN ${sql(CALL_KINDS)} AND day > (now() AT TIME ZONE 'UTC')::date - ${PACE_DAYS}::integer`;
  const { perDay } = row!;
  if (!perDay) return null;
  const end = new Date(Date.now() + (creditsLeft(account) / perDay) * DAY);
  return end < account.period.end ? end : 'enough';
}

/** A grant of purchased credits, from the ledger. */
interface Grant {
  id: number;
  at: Date;
  credits: number;
  /** Purchased credits after it. */
  balance: number;
  note: string;
  /** The operator's, such as the number of an invoice. */
  reference: string | null;
  /** The time of the next grant; `null` for the latest one. */
  until: Date | null;
  /** The credits that were left then, or are left now. */
  left: number;
}

/** The grants of an account in a slice, each with what the next one found. */
async function loadGrants(sql: Sql, accountId: string, slice: Slice): Promise<Grant[]> {
  return sql<Grant[]>`
    SELECT e.id, e.at, e.credits, e.balance, e.note, e.reference, next.at AS until,
      coalesce(next.balance - next.credits, b.credits) AS left
    FROM account_events e JOIN counters b ON b.id = e.account_id LEFT JOIN LATERAL (
      SELECT at, balance, credits FROM account_events
      WHERE account_id = e.account_id AND kind = 'credits' AND id > e.id ORDER BY id LIMIT 1) AS next ON true
    WHERE e.account_id = ${accountId} AND e.kind = 'credits' ${inSlice(sql, sql`e.id`, slice)}`;
}

/** A grant, or the credits that calls beyond the allowance spent between two grants, or since the last one. */
interface CreditEntry extends Omit<Grant, 'at' | 'id' | 'left'> {
  kind: 'grant' | 'spent';
  from: Date;
}

/**
 * Grants, and between them the credits that calls spent. The ledger has the balance after each grant; the credits that are
 * missing before the next one, or now, were spent. The amounts add up to the balance.
 *
 * @param grants the latest first
 * @returns the latest first
 */
function creditHistory(grants: Grant[]): CreditEntry[] {
  return grants.flatMap(({ id: _, at, until, left, ...rest }) => {
    const grant: CreditEntry = { kind: 'grant', from: at, until: at, ...rest };
    const credits = left - rest.balance;
    if (credits === 0) return [grant];
    return [{ kind: 'spent', from: at, until, credits, balance: left, reference: null, note: '' }, grant];
  });
}
