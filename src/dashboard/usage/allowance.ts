import type { AccountDetails } from '../../metering/accounts/store.ts';
import type { MemberContext } from '../page-context.ts';
import { type HtmlValue, html } from '../ui/html.ts';
import { buyLink, contactLink } from '../ui/parts.ts';
import { availableCredits, forecast } from './credits.ts';

/** From this share of the allowance on, pages say that it is running low. */
const LOW_FROM = 0.8;

/** `low` means that 80% of the allowance or more are used; `beyond` that calls spend purchased credits; `none` that no call is left. */
type AllowanceState = 'fine' | 'low' | 'beyond' | 'none';

/** How much of an account's allowance is left. @param end of its credits, by {@link forecast} */
function allowanceState(account: AccountDetails, end: Date | 'enough' | null): AllowanceState {
  const { used, includedCredits, credits, spendPurchased } = account;
  if (availableCredits(account) === 0) return 'none';
  // Purchased credits pay for calls beyond the allowance. It is fine unless the forecast says that they end before the period.
  if (spendPurchased && credits > 0 && !(end instanceof Date)) return 'fine';
  // An account without an allowance spends purchased credits from the start.
  if (includedCredits === 0 || used < includedCredits * LOW_FROM) return 'fine';
  return used < includedCredits ? 'low' : 'beyond';
}

/** The state of the account's credits, and in words how long they last; `null` if it spends none. */
export async function readAllowance({ messages, formats, tools, account }: MemberContext) {
  const end = await forecast(tools.sql, account);
  const lasts = end && (end === 'enough' ? messages.lastsEnough : messages.lastsUntil(formats.date(end)));
  return { state: allowanceState(account, end), lasts };
}

/** The notice of low credits on every page, with the remedy. */
export async function allowanceNotice(context: MemberContext): Promise<HtmlValue> {
  const { messages, formats, tools, account } = context;
  const { number } = formats;
  const { used, includedCredits, credits } = account;
  const { state, lasts } = await readAllowance(context);
  if (state === 'fine') return null;
  const percent = Math.floor((used / includedCredits) * 100);
  const refused = credits === 0 ? messages.noneLeft : messages.noneLeftToSpend;
  const message = {
    low: messages.allowanceLow(number(percent), number(used), number(includedCredits)),
    beyond: messages.allowanceUsed(number(credits)),
    none: refused(formats.instant(account.period.end)),
  }[state];
  // Without calls left although credits were bought, the remedy is the switch.
  const isSwitchedOff = state === 'none' && credits > 0;
  const remedy = isSwitchedOff
    ? html`<a href="${tools.base}/settings/spending">${messages.spending}</a>`
    : (buyLink(context) ?? html`<a href="${tools.base}/credits">${messages.getMore}</a>`);
  const contact = contactLink(context);
  return html`
<div class="notice ${state === 'none' ? 'bad' : 'warn'}" role="status" data-allowance="${state}">
  <p>${message} ${state !== 'none' && lasts}</p>
  <p>${remedy}${contact && html` · ${contact}`}</p>
</div>`;
}
