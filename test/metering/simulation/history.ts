/** What happens in a history: accounts, and actions at their instants. All of it is data that a seed makes. */
import { createHash } from 'node:crypto';
import type { BudgetPeriod } from '../../../src/metering/keys/limits.ts';
import { createRandom } from './world.ts';

export interface Account {
  id: string;
  included: number;
  credits: number;
  keys: { id: string; secret: string; budget: { credits: number; per: BudgetPeriod } | null }[];
}

export interface CallAction {
  kind: 'call';
  atMs: number;
  instance: number;
  account: number;
  key: number;
  credits: number;
  /** Items that the answer uses of those that it can pay. */
  uses: number;
  /** Whether the answer is a 503 after all. */
  isUnavailable: boolean;
  /** The request with this `Idempotency-Key`; `null` means that it has none. */
  request: number | null;
  wantsLeft: boolean;
  workMs: number;
  /** When its client leaves; `null` means that it waits. */
  leavesAfterMs: number | null;
}

export type Action =
  | CallAction
  | { kind: 'kill'; atMs: number; instance: number; backAfterMs: number }
  | { kind: 'stop'; atMs: number; instance: number; backAfterMs: number }
  | { kind: 'restart'; atMs: number; downMs: number }
  | { kind: 'faults'; atMs: number; rate: number }
  | { kind: 'grant'; atMs: number; account: number; credits: number }
  | { kind: 'included'; atMs: number; account: number; included: number }
  | { kind: 'spending'; atMs: number; account: number; spendsPurchased: boolean }
  | { kind: 'period'; atMs: number; account: number }
  | { kind: 'hold'; atMs: number; account: number; forMs: number }
  | { kind: 'budget'; atMs: number; account: number; key: number; credits: number | null }
  | { kind: 'expire'; atMs: number; account: number; key: number };

export interface History {
  seed: number;
  startMs: number;
  instances: number;
  accounts: Account[];
  /** In the order of time. */
  actions: Action[];
}

export const HEALED_MS = 9000;

/** Secrets of the right form: their keys are made once. */
let secrets: string[] = [];
export function useSecrets(made: string[]): void {
  secrets = made;
}
export const hashOf = (secret: string) => createHash('sha256').update(secret).digest('base64');

const PERIODS = ['day', 'month', 'ever'] as const;

/** @param isPlain for a real Postgres: nothing that depends on its clock */
export function createHistory(seed: number, isPlain = false): History {
  const random = createRandom(seed);
  const { below, chance, one } = random;
  const instances = 1 + below(3);
  const accounts = Array.from({ length: 1 + below(3) }, (_, index): Account => {
    const id = `acc_${index}`;
    return {
      id,
      included: random.one([0, 4, 10, 60, 1000]),
      credits: random.one([0, 0, 5, 40]),
      keys: Array.from({ length: 1 + below(2) }, (_, key) => ({
        id: `key_${index}_${key}`,
        secret: secrets[2 * index + key]!,
        budget: chance(0.3) ? { credits: below(25), per: random.one(PERIODS) } : null,
      })),
    };
  });
  const lastMs = chance(0.05) && !isPlain ? 13 * 60_000 : 4000;
  const actions: Action[] = [{ kind: 'faults', atMs: 0, rate: random.one([0, 0.03, 0.1, 0.3]) }];
  const requests: CallAction[] = [];
  for (let left = 5 + below(50); left > 0; left -= 1) {
    const earlier = requests.length > 0 && chance(0.15) ? random.one(requests) : null;
    const action =
      earlier === null ? newCall() : { ...earlier, atMs: below(lastMs), uses: below(earlier.credits + 1) };
    action.instance = below(instances);
    actions.push(action);
    if (action.request !== null && earlier === null) requests.push(action);
  }
  for (let left = below(4) + (isPlain ? 2 : 0); left > 0; left -= 1) actions.push(otherAction());
  actions.sort((one, other) => one.atMs - other.atMs);
  // A day turns in some histories, and a month.
  const startMs = isPlain
    ? Date.UTC(2026, 10, 17, 12)
    : Date.UTC(2026, 10, random.one([17, 17, 17, 30]), 23, 59, 58);
  return { seed, startMs, instances, accounts, actions };

  function newCall(): CallAction {
    const account = below(accounts.length);
    const credits = chance(0.4) ? 1 + below(12) : 1;
    return {
      kind: 'call',
      // Half of them in crowds, so that batches have several.
      atMs: chance(0.5) ? 500 * below(lastMs / 500) : below(lastMs),
      ...{ instance: 0, account, key: below(accounts[account]!.keys.length), credits },
      uses: chance(0.6) ? credits : below(credits + 1),
      isUnavailable: chance(0.1),
      request: chance(0.2) ? requests.length : null,
      wantsLeft: chance(0.2),
      workMs: below(60),
      leavesAfterMs: chance(0.08) && !isPlain ? below(60) : null,
    };
  }

  function otherAction(): Action {
    const atMs = below(4500);
    const account = below(accounts.length);
    const key = below(accounts[account]!.keys.length);
    const instance = below(instances);
    const always: Action[] = [
      { kind: 'grant', atMs, account, credits: 1 + below(9) },
      { kind: 'included', atMs, account, included: below(30) },
      { kind: 'spending', atMs, account, spendsPurchased: chance(0.5) },
      { kind: 'period', atMs, account },
    ];
    const budget: Action = { kind: 'budget', atMs, account, key, credits: below(30) };
    if (isPlain)
      return one(accounts[account]!.keys[key]!.budget === null ? always : [...always, budget, budget]);
    return one<Action>([
      ...always,
      { kind: 'kill', atMs, instance, backAfterMs: 100 + below(3000) },
      { kind: 'kill', atMs, instance, backAfterMs: 100 + below(3000) },
      { kind: 'stop', atMs, instance, backAfterMs: 100 + below(3000) },
      { kind: 'restart', atMs, downMs: below(2500) },
      { kind: 'hold', atMs, account, forMs: below(2500) },
      chance(0.8) ? budget : { ...budget, credits: null },
      { kind: 'expire', atMs, account, key },
    ]);
  }
}
