/** The tables of the ledger in the engine, and what their rows say by day. */
import type { BudgetPeriod } from '../../../src/metering/keys/limits.ts';
import { DAY } from '../../../src/platform/units.ts';
import { type Transaction, table } from './engine.ts';

/** A bounded count in a window: of an account, whose windows are months, or of a key. */
export interface Counter {
  accountId: string;
  /** The windows of a key's budget; `null` means an account. */
  per: BudgetPeriod | null;
  /** What a window includes; `null` means a key without a budget. */
  included: number | null;
  spendsPurchased: boolean;
  used: number;
  usedPurchased: number;
  purchasedBefore: number;
  credits: number;
  granted: number;
  /** Microseconds, as all instants. */
  start: number;
  end: number;
  openedAt: number;
  settlesAt: number | null;
}

export interface Entry {
  accountId: string;
  keyId: string;
  kind: string;
  calls: number;
  activity: string | undefined;
}

export interface JournalRow {
  at: number;
  spentAt: number;
  counted: boolean;
  owed: boolean;
  entries: Entry[];
  purchased: Record<string, number>;
  budgets: string[];
}

interface Key {
  accountId: string;
  hash: string;
  expiresAt: number | null;
}

export interface ActivityPart {
  accountId: string;
  kind: 'charge' | 'return';
  first: number;
  last: number;
  rows: { callId: string; keyId: string; credits: number }[];
}

export interface KeyedRequest {
  sending: string | null;
  liveUntil: number;
  kept: number;
  keptAt: number | null;
  shortOf: 'account' | 'key' | null;
  keyId: string | null;
}

export const COUNTERS = table<Counter>('counters');
export const KEYS = table<Key>('api_keys');
export const JOURNAL = table<JournalRow>('call_journal');
export const REQUESTS = table<KeyedRequest>('keyed_requests');
export const DAYS = table<{ calls: number }>('daily_counts');
export const ACTIVITY = table<ActivityPart>('activity_parts');
export const NUMBERS = table<{ last: number }>('activity_numbers');

export const US = 1000;
export const FOREVER = Number.NEGATIVE_INFINITY;

/** SQL: `budget_window`. */
export const windowAt = (per: BudgetPeriod, at: number): number => {
  if (per === 'ever') return FOREVER;
  const date = new Date(at / US);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), per === 'day' ? date.getUTCDate() : 1) * US;
};
/** SQL: `window_end`. */
export const endOf = (per: BudgetPeriod, start: number): number => {
  if (per === 'ever') return Number.POSITIVE_INFINITY;
  if (start === FOREVER) return FOREVER;
  return per === 'day' ? start + DAY * US : nextPeriodEnd(start);
};
export const dayOf = (at: number) => Math.floor(at / (DAY * US));
export const nextPeriodEnd = (now: number) => {
  const date = new Date(now / US);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1) * US;
};
export const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);
export const sorted = (ids: string[]) => [...new Set(ids)].sort();

export const callsIn = (entries: Entry[], isOwn: (entry: Entry) => boolean) =>
  sum(entries.map((entry) => (isOwn(entry) ? entry.calls : 0)));

/** Credits of a key since an instant, as the view `calls_by_day` has them. */
export function callsOf(
  tx: Transaction,
  accountId: string,
  keyId: string | null,
  sinceDay = FOREVER,
): number {
  const isOwn = (entry: Entry) => entry.accountId === accountId && (keyId === null || entry.keyId === keyId);
  const rolledUp = tx.scan(DAYS).map(([key, { calls }]) => {
    const [account, day, ofKey] = key.split(' ');
    return account === accountId && (keyId === null || ofKey === keyId) && Number(day) >= sinceDay
      ? calls
      : 0;
  });
  const fresh = tx
    .scan(JOURNAL)
    .map(([, { counted, at, entries }]) => (counted || dayOf(at) < sinceDay ? 0 : callsIn(entries, isOwn)));
  return sum(rolledUp) + sum(fresh);
}
