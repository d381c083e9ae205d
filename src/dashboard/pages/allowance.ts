import type { AccountDetails } from '../../accounts/store.ts';
import type { MemberContext } from '../request/page-context.ts';
import { type HtmlValue, html } from '../ui/html.ts';
import { contactLink } from '../ui/parts.ts';
import { availableCredits, loadCallsPerDay, runsOutAt } from '../usage/credits.ts';

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
export async function allowanceNotice(context: MemberContext): Promise<HtmlValue> {
  const { messages, formats, tools, account } = context;
  const state = allowanceState(account);
  if (state === 'fine') return null;
  const { used, includedCredits, credits } = account;
  const message = {
    low: () =>
      messages.allowanceLow(
        formats.number(Math.floor((used / includedCredits) * 100)),
        formats.number(used),
        formats.number(includedCredits),
      ),
    beyond: () => messages.allowanceUsed(formats.number(credits)),
    none: () =>
      (credits === 0 ? messages.noneLeft : messages.noneLeftToSpend)(formats.instant(account.period.end)),
  }[state]();
  const contact = contactLink(context);
  const forecast = state === 'none' ? null : await forecastText(context);
  return html`
<div class="notice ${state === 'none' ? 'bad' : 'warn'}" role="status" data-allowance="${state}">
  <p>${message} ${forecast}</p>
  <p><a href="${tools.base}/credits">${messages.getMore}</a>${contact && html` · ${contact}`}</p>
</div>`;
}

/** How long the account's credits last; null when it spends none. */
export async function forecastText(context: MemberContext): Promise<string | null> {
  const { messages, formats, tools, account } = context;
  const perDay = await loadCallsPerDay(tools.sql, account.id);
  const end = runsOutAt(availableCredits(account), perDay, {
    now: new Date(),
    periodEnd: account.period.end,
  });
  if (end === null) return null;
  return end === 'enough' ? messages.lastsEnough : messages.lastsUntil(formats.date(end));
}
