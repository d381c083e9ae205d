import type { AccountDetails } from '../../accounts/store.ts';
import type { RateDecision } from '../../rate-limit/bucket.ts';
import { presentUsage } from '../../usage/route.ts';
import type { UsageAnswer } from '../../usage/schema.ts';

/** The figures of the overview: the usage object of `GET /usage`, and the values that the specification derives from it. */
export interface UsageSummary {
  usage: UsageAnswer['data'];
  includedLeft: number;
  /** included left + purchased (specification, Get usage, Derived values); without the purchased ones if they are not spent. */
  available: number;
  /** The part of `used` beyond the allowance, paid with purchased credits. */
  beyond: number;
}

/** Calls that the account can still make: what is left of the allowance, and purchased credits if it spends them. */
export function availableCredits(account: AccountDetails): number {
  const { includedCredits, used, credits, spendPurchased } = account;
  return Math.max(0, includedCredits - used) + (spendPurchased ? credits : 0);
}

export function summarizeUsage(
  account: AccountDetails,
  rate: Pick<RateDecision, 'limit' | 'remaining'>,
): UsageSummary {
  const usage = presentUsage(account, rate).data;
  const { used, limit } = usage.quotas.requests;
  const includedLeft = Math.max(0, limit - used);
  return { usage, includedLeft, available: availableCredits(account), beyond: Math.max(0, used - limit) };
}
