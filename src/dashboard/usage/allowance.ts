import { type AccountDetails, creditsLeft } from '../../metering/accounts/account-store.ts';
import type { MemberContext, Notice } from '../context.ts';
import { buyLink, type Html, html, moreCredits, pricesOf, withContact } from '../ui/html.ts';
import { filled } from '../ui/states.ts';
import { forecast } from './credits-page.ts';

/** From this share of the allowance on, pages say that it is running low. */
const LOW_FROM = 0.8;

/**
 * `low` means that 80% of the allowance or more are used; `beyond` that requests spend purchased credits; `none` that no credit is
 * left; `suspended` that all requests are refused.
 */
type AllowanceState = 'fine' | 'low' | 'beyond' | 'none' | 'suspended';

/** How much of an account's allowance is left. @param end of its credits, by {@link forecast} */
function allowanceState(account: AccountDetails, end: Date | 'enough' | null): AllowanceState {
  const { used, includedCredits, credits, spendPurchased, suspended } = account;
  if (suspended) return 'suspended';
  if (creditsLeft(account) === 0) return 'none';
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

/**
 * The effect of an empty balance, and the price of more credits, with the way to buy them.
 * @param lasts how long credits last, in words
 */
export function atZero(context: MemberContext, lasts: string | null): Html {
  const { messages, formats, account } = context;
  const prices = pricesOf(context, account.plan !== 'free');
  const refused =
    account.includedCredits === 0
      ? messages.atZeroForGood
      : messages.atZero(formats.date(account.period.end));
  return html`
<div class="at-zero">
  <p data-at-zero>${refused}${lasts !== null && html` <span data-forecast>${lasts}</span>`}${prices && html` <span data-prices>${prices}</span>`}</p>
  ${buyLink(context, 'button small')}
</div>`;
}

/** The notice of low credits on every page, with the remedy. */
export async function allowanceNotice(context: MemberContext): Promise<Notice[]> {
  const { messages, formats, account } = context;
  const { number } = formats;
  const { used, includedCredits, credits, period } = account;
  const { state, lasts } = await readAllowance(context);
  if (state === 'fine' || state === 'suspended') return [];
  const { states } = messages;
  const percent = number(Math.floor((used / includedCredits) * 100));
  const [start, end] = [formats.date(period.start), formats.date(period.end)];
  const until = formats.instant(period.end);
  const texts = {
    low: filled(states.low, [percent, number(used), number(includedCredits), start], [], [end]),
    beyond: filled(states.beyond, [start], [number(credits)], [end]),
    none:
      credits === 0 && includedCredits === 0
        ? filled(states.noneIncluded)
        : filled(credits === 0 ? states.none : states.switchedOff, [start], [until]),
  }[state];
  const [look, more] = state === 'none' ? (['bad', null] as const) : (['warn', lasts] as const);
  const remedy = withContact(context, moreCredits(context));
  return [{ look, about: `credits ${state}`, lead: texts, more, remedy }];
}
