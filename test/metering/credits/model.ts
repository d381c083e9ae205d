/**
 * The rules of the ledger in plain words of JavaScript, for two accounts whose operations happen one after another. Each has a key that
 * can have a budget of a month, and calls without a key. The test beside it does them at the same moment, and looks for an order
 * for each account in which the model ends as Postgres did.
 */

/** A charge's share of one account. */
interface Part {
  period: number;
  calls: number;
  purchased: number;
  /** Calls of the key, among all. */
  ofKey: number;
  month: number;
  /** Whether the key's budget counted them when they were charged. */
  isBudgeted: boolean;
  /** How often the budget had been counted from the calls of its month by then. */
  recounts: number;
}

/** The budget of an account's key. */
interface BudgetModel {
  credits: number;
  month: number;
  used: number;
}

export interface AccountModel {
  included: number;
  spendsPurchased: boolean;
  plan: 'free' | 'plus';
  /** Counts the periods that were opened. */
  period: number;
  hasEnded: boolean;
  used: number;
  usedPurchased: number;
  purchasedBefore: number;
  credits: number;
  /** Of all days. */
  calls: number;
  budget: BudgetModel | null;
  /** How often the budget was counted from the calls of the month. */
  recounts: number;
  /** Calls of the key in the present month. */
  ofKey: number;
  granted: number;
}

export interface Ledger {
  /** Counts the months that have passed. */
  month: number;
  accounts: AccountModel[];
  /** Charges that were not refunded, by attempt and account. */
  batches: Map<string, (Part | null)[]>;
  /** Attempts with a refund. The service voids batches without an answer, and refunds batches with one, so no batch has both. */
  refunded: Set<string>;
}

export type Wanted = [free: number, ofKey: number];

export type Step =
  /** Calls of each account without a key, and with it. A stale instance does not know of budgets. */
  | { kind: 'charge'; attempt: string; wanted: Wanted[]; isStale: boolean }
  | { kind: 'void'; attempt: string }
  | { kind: 'refund'; attempt: string; account: number; calls: number; isOfKey: boolean }
  | { kind: 'budget'; account: number; budget: number | null }
  /** Not beside others. */
  | { kind: 'month' }
  | { kind: 'plan'; account: number; plan: 'free' | 'plus' }
  | { kind: 'included'; account: number; included: number }
  | { kind: 'spending'; account: number; spendsPurchased: boolean }
  | { kind: 'grant'; account: number; credits: number }
  | { kind: 'end'; account: number }
  | { kind: 'roll up' };

export const newAccount = (included: number, credits: number): AccountModel => ({
  included,
  spendsPurchased: true,
  plan: 'free',
  period: 0,
  hasEnded: false,
  used: 0,
  usedPurchased: 0,
  purchasedBefore: 0,
  credits,
  calls: 0,
  budget: null,
  recounts: 0,
  ofKey: 0,
  granted: credits,
});

/** For a charge, the credits that it took from each account. */
export type Outcome = { calls: number; ofKey: number; purchased: number }[] | null;

/** Does a step. */
export function take(ledger: Ledger, step: Step): Outcome {
  if (step.kind === 'charge') {
    const parts = step.wanted.map((wanted, index) =>
      charge(ledger.accounts[index]!, wanted, step.isStale, ledger.month),
    );
    ledger.batches.set(step.attempt, parts);
    return parts.map((part) => ({
      ...{ calls: part?.calls ?? 0, ofKey: part?.ofKey ?? 0, purchased: part?.purchased ?? 0 },
    }));
  }
  if (step.kind === 'void') {
    for (const [index, part] of (ledger.batches.get(step.attempt) ?? []).entries()) {
      if (part !== null) refund(ledger, index, part, part, part.purchased);
    }
    ledger.batches.delete(step.attempt);
  } else if (step.kind === 'refund') {
    const part = ledger.batches.get(step.attempt)![step.account]!;
    const { calls } = step;
    const ofKey = step.isOfKey ? calls : 0;
    refund(ledger, step.account, part, { calls, ofKey }, purchasedFirst(part, calls));
    part.purchased -= purchasedFirst(part, calls);
    part.calls -= calls;
    part.ofKey -= ofKey;
    ledger.refunded.add(step.attempt);
  } else if (step.kind === 'month') {
    ledger.month += 1;
    for (const account of ledger.accounts) account.ofKey = 0;
  } else if (step.kind === 'budget') limit(ledger.accounts[step.account]!, step.budget, ledger.month);
  else if (step.kind !== 'roll up') change(ledger.accounts[step.account]!, step);
  return null;
}

/** The purchased credits among so many refunded ones. */
export const purchasedFirst = (part: Part, calls: number): number => Math.min(part.purchased, calls);

/** The credits that the budget has counted in this month. */
export const usedBudget = ({ budget }: AccountModel, month: number): number | null =>
  budget && (budget.month < month ? 0 : budget.used);

function charge(
  account: AccountModel,
  [free, wantedOfKey]: Wanted,
  isStale: boolean,
  month: number,
): Part | null {
  if (free + wantedOfKey === 0) return null;
  if (account.hasEnded) open(account);
  const includedLeft = Math.max(account.included - account.used, 0);
  const left = includedLeft + (account.spendsPurchased ? account.credits : 0);
  const budget = isStale ? null : account.budget;
  const keyLeft = budget === null ? wantedOfKey : Math.max(budget.credits - usedBudget(account, month)!, 0);
  const withoutKey = Math.min(free, left);
  const ofKey = Math.min(wantedOfKey, keyLeft, left - withoutKey);
  const calls = withoutKey + ofKey;
  account.ofKey += ofKey;
  if (budget !== null && ofKey > 0)
    account.budget = { ...budget, month, used: usedBudget(account, month)! + ofKey };
  const purchased = Math.max(calls - includedLeft, 0);
  account.used += calls;
  account.calls += calls;
  account.usedPurchased += purchased;
  account.credits -= purchased;
  const { period, recounts } = account;
  return { period, calls, purchased, ofKey, month, isBudgeted: budget !== null, recounts };
}

function limit(account: AccountModel, credits: number | null, month: number): void {
  account.recounts += 1;
  account.budget = credits === null ? null : { credits, month, used: account.ofKey };
}

function refund(
  ledger: Ledger,
  index: number,
  { period, month, isBudgeted, recounts }: Part,
  { calls, ofKey }: Pick<Part, 'calls' | 'ofKey'>,
  purchased: number,
): void {
  const account = ledger.accounts[index]!;
  account.calls -= calls;
  if (month === ledger.month) account.ofKey -= ofKey;
  const { budget } = account;
  if (budget !== null && month >= budget.month && (isBudgeted || recounts < account.recounts))
    budget.used -= ofKey;
  if (period === account.period) {
    const back = Math.min(calls, account.usedPurchased, Math.max(purchased, account.used - account.included));
    account.used -= calls;
    account.usedPurchased -= back;
    account.credits += back;
  } else {
    const back = Math.min(purchased, account.purchasedBefore);
    account.purchasedBefore -= back;
    account.credits += back;
  }
}

type Change = Extract<Step, { account: number; kind: 'plan' | 'included' | 'spending' | 'grant' | 'end' }>;

function change(account: AccountModel, step: Change): void {
  if (step.kind === 'included') account.included = step.included;
  else if (step.kind === 'spending') account.spendsPurchased = step.spendsPurchased;
  else if (step.kind === 'end') account.hasEnded = true;
  else if (step.kind === 'grant') {
    // More than is unspent is not taken back.
    if (account.credits + step.credits < 0) return;
    account.credits += step.credits;
    account.granted += step.credits;
  } else if (step.plan === 'plus' || account.plan === 'plus') {
    account.plan = step.plan;
    open(account);
  }
}

function open(account: AccountModel): void {
  account.purchasedBefore += account.usedPurchased;
  Object.assign(account, { used: 0, usedPurchased: 0, hasEnded: false, period: account.period + 1 });
}
