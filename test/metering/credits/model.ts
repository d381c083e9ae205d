/**
 * The rules of the ledger in plain words of JavaScript, for two accounts whose operations happen one after another. The test beside
 * it does them at the same moment, and looks for an order for each account in which the model ends as Postgres did.
 */

/** A charge's share of one account. */
interface Part {
  period: number;
  calls: number;
  purchased: number;
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
  granted: number;
}

export interface Ledger {
  accounts: AccountModel[];
  /** What is charged and was not refunded, by attempt and account. */
  batches: Map<string, (Part | null)[]>;
  /** Attempts with a refund. The service voids batches without an answer, and refunds batches with one, so no batch has both. */
  refunded: Set<string>;
}

export type Step =
  | { kind: 'charge'; attempt: string; wanted: number[] }
  | { kind: 'void'; attempt: string }
  | { kind: 'refund'; attempt: string; account: number; calls: number }
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
  granted: credits,
});

/** For a charge, the credits that it took from each account. */
export type Outcome = { calls: number; purchased: number }[] | null;

/** Does a step. */
export function take(ledger: Ledger, step: Step): Outcome {
  if (step.kind === 'charge') {
    const parts = step.wanted.map((credits, index) => charge(ledger.accounts[index]!, credits));
    ledger.batches.set(step.attempt, parts);
    return parts.map((part) => ({ calls: part?.calls ?? 0, purchased: part?.purchased ?? 0 }));
  }
  if (step.kind === 'void') {
    for (const [index, part] of (ledger.batches.get(step.attempt) ?? []).entries()) {
      if (part !== null) refund(ledger.accounts[index]!, part, part.calls, part.purchased);
    }
    ledger.batches.delete(step.attempt);
  } else if (step.kind === 'refund') {
    const part = ledger.batches.get(step.attempt)![step.account]!;
    refund(ledger.accounts[step.account]!, part, step.calls, purchasedFirst(part, step.calls));
    part.purchased -= purchasedFirst(part, step.calls);
    part.calls -= step.calls;
    ledger.refunded.add(step.attempt);
  } else if (step.kind !== 'roll up') change(ledger.accounts[step.account]!, step);
  return null;
}

/** The purchased credits among so many refunded ones. */
export const purchasedFirst = (part: Part, calls: number): number => Math.min(part.purchased, calls);

function charge(account: AccountModel, wanted: number): Part | null {
  if (wanted === 0) return null;
  if (account.hasEnded) open(account);
  const includedLeft = Math.max(account.included - account.used, 0);
  const calls = Math.min(wanted, includedLeft + (account.spendsPurchased ? account.credits : 0));
  const purchased = Math.max(calls - includedLeft, 0);
  account.used += calls;
  account.calls += calls;
  account.usedPurchased += purchased;
  account.credits -= purchased;
  return { period: account.period, calls, purchased };
}

function refund(account: AccountModel, { period }: Part, calls: number, purchased: number): void {
  account.calls -= calls;
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
