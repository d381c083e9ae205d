import type { AccountDetails } from '../../accounts/store.ts';
import type { MemberVisit } from '../request/visit.ts';
import { contactLink } from '../ui/contact.ts';
import { type HtmlValue, html } from '../ui/html.ts';
import { loadCallsPerDay, runsOutAt } from '../usage/forecast.ts';
import { availableCredits } from '../usage/usage-summary.ts';

/** From this share of the allowance on, pages say that it is running low. */
const LOW_FROM = 0.8;

/** `low`: 80% of the allowance or more is used; `beyond`: all of it, and calls spend purchased credits; `none`: no call is left. */
export type AllowanceState = 'fine' | 'low' | 'beyond' | 'none';

export function allowanceState(account: AccountDetails): AllowanceState {
  const { used, includedCredits } = account;
  if (availableCredits(account) === 0) return 'none';
  // An account without an allowance spends purchased credits from the start.
  if (includedCredits === 0 || used < includedCredits * LOW_FROM) return 'fine';
  return used < includedCredits ? 'low' : 'beyond';
}

/** The notice of low credits on every page, with the remedy. */
export async function allowanceNotice(visit: MemberVisit): Promise<HtmlValue> {
  const { texts, formats, tools, account } = visit;
  const state = allowanceState(account);
  if (state === 'fine') return null;
  const { used, includedCredits, credits } = account;
  const message = {
    low: () =>
      texts.allowanceLow(
        formats.number(Math.floor((used / includedCredits) * 100)),
        formats.number(used),
        formats.number(includedCredits),
      ),
    beyond: () => texts.allowanceUsed(formats.number(credits)),
    none: () => (credits === 0 ? texts.noneLeft : texts.noneLeftToSpend)(formats.instant(account.period.end)),
  }[state]();
  const contact = contactLink(visit);
  const forecast = state === 'none' ? null : await forecastText(visit);
  return html`
<div class="notice ${state === 'none' ? 'bad' : 'warn'}" role="status" data-allowance="${state}">
  <p>${message} ${forecast}</p>
  <p><a href="${tools.base}/credits">${texts.getMore}</a>${contact && html` · ${contact}`}</p>
</div>`;
}

/** How long the account's credits last; null when it spends none. */
export async function forecastText(visit: MemberVisit): Promise<string | null> {
  const { texts, formats, tools, account } = visit;
  const perDay = await loadCallsPerDay(tools.sql, account.id);
  const end = runsOutAt(availableCredits(account), perDay, {
    now: new Date(),
    periodEnd: account.period.end,
  });
  if (end === null) return null;
  return end === 'enough' ? texts.lastsEnough : texts.lastsUntil(formats.date(end));
}
