/** The statements of the ledger (seam.ts), over the engine: which rows each reads, locks and writes, in the order in which Postgres does. */
import {
  type Call,
  type Claim,
  type Quota,
  REPEAT_WINDOW_MS,
  type SpentBudget,
} from '../../../src/metering/credits/call.ts';
import type { ChargedBatch } from '../../../src/metering/credits/charge-calls.ts';
import type { ClaimEnd } from '../../../src/metering/credits/claim.ts';
import { REFUND_WINDOW_MS, type Refund } from '../../../src/metering/credits/refund.ts';
import type { Caller } from '../../../src/metering/keys/authenticate.ts';
import type { Budget } from '../../../src/metering/keys/limits.ts';
import { DAY, SECOND } from '../../../src/platform/units.ts';
import { PostgresError, type Steps, type Transaction } from './engine.ts';
import {
  ACTIVITY,
  type ActivityPart,
  BALANCES,
  type Balance,
  BUDGETS,
  callsIn,
  callsOf,
  DAYS,
  dayOf,
  type Entry,
  FOREVER,
  JOURNAL,
  type JournalRow,
  KEYS,
  type KeyBudget,
  type KeyedRequest,
  NUMBERS,
  nextPeriodEnd,
  REQUESTS,
  sorted,
  sum,
  US,
  windowAt,
} from './tables.ts';

const ROWS_AT_ONCE = 1000;
const EMPTY = { counted: true, owed: false, entries: [], purchased: {}, budgets: [] };

/** The counters in the window of an instant (SQL: `counter_at`). */
const opened = (balance: Balance, now: number, { engine }: Transaction): Balance =>
  now < balance.periodEnd
    ? balance
    : {
        ...balance,
        used: 0,
        usedPurchased: 0,
        purchasedBefore: balance.purchasedBefore + balance.usedPurchased,
        periodEnd: nextPeriodEnd(now),
        periodOpenedAt: engine.clock(),
      };
const openedBudget = (budget: KeyBudget, now: number): KeyBudget => {
  const windowStart = windowAt(budget.per, now);
  return windowStart > budget.windowStart ? { ...budget, windowStart, used: 0 } : budget;
};

const spendable = ({ included, used, spendsPurchased, credits }: Balance) =>
  Math.max(included - used, 0) + (spendsPurchased ? credits : 0);

const entriesOf = (calls: Call[], spent: number[] | null): Entry[] =>
  calls.map(({ accountId, keyId, kind, credits, activity }, index) => ({
    ...{ accountId, keyId, kind, activity },
    calls: spent?.[index] ?? credits,
  }));

/** The amounts of each counter, in the order of the locks. */
const amounts = (calls: [id: string, credits: number][]): [string, number][] =>
  sorted(calls.map(([id]) => id)).map((id) => [
    id,
    sum(calls.map(([of, credits]) => (of === id ? credits : 0))),
  ]);
const ofAccounts = (calls: Call[]) => amounts(calls.map(({ accountId, credits }) => [accountId, credits]));
const isLimited = (calls: Call[], key: string) =>
  calls.some(({ keyId, hasBudget }) => keyId === key && hasBudget);
const ofKeys = (calls: Call[]) =>
  amounts(calls.filter(({ keyId }) => isLimited(calls, keyId)).map(({ keyId, credits }) => [keyId, credits]));

const purchasedOf = ({ included, used }: Balance, credits: number) =>
  Math.max(credits - Math.max(included - used, 0), 0);
const debited = (balance: Balance, credits: number): Balance => ({
  ...balance,
  used: balance.used + credits,
  usedPurchased: balance.usedPurchased + purchasedOf(balance, credits),
  credits: balance.credits - purchasedOf(balance, credits),
});
const budgetLeft = ({ credits, used }: KeyBudget) =>
  credits === null ? Number.MAX_SAFE_INTEGER : Math.max(credits - used, 0);

function quotaOf(tx: Transaction, balance: Balance): Quota {
  const end = tx.now < balance.periodEnd ? balance.periodEnd : nextPeriodEnd(tx.now);
  return { limit: balance.included, ...resetOf(tx, end) };
}

const resetOf = (tx: Transaction, end: number) => ({
  resetAt: new Date(end / US).toISOString(),
  retryAfterS: Math.max(Math.ceil((end - tx.now) / (SECOND * US)), 1),
});

function spentBudget(tx: Transaction, { credits, per, windowStart }: KeyBudget): SpentBudget {
  if (per === 'ever') return { credits: credits!, per, resetAt: null, retryAfterS: null };
  const end = per === 'day' ? windowStart + DAY * US : nextPeriodEnd(windowStart);
  return { credits: credits!, per, ...resetOf(tx, end) };
}

function* chargeAtOnce(tx: Transaction, calls: Call[], attempt: string): Steps<ChargedBatch[]> {
  const purchased: Record<string, number> = {};
  const left: Record<string, number> = {};
  for (const [id, credits] of ofAccounts(calls)) {
    const canPay = (b: Balance) => tx.now < b.periodEnd && credits <= spendable(b);
    const found = yield* tx.update(BALANCES, id, canPay, (b) => debited(b, credits));
    if (found === undefined) throw new PostgresError('U0001');
    if (found.old.credits > found.new.credits) purchased[id] = found.old.credits - found.new.credits;
    left[id] = spendable(found.new);
  }
  for (const [id, credits] of ofKeys(calls)) {
    const canPay = (k: KeyBudget) => windowAt(k.per, tx.now) === k.windowStart && credits <= budgetLeft(k);
    const found = yield* tx.update(BUDGETS, id, canPay, (k) => ({ ...k, used: k.used + credits }));
    if (found === undefined) throw new PostgresError('U0001');
    left[id] = budgetLeft(found.new);
  }
  yield* tx.insertNew(JOURNAL, attempt, {
    ...{ at: tx.now, spentAt: tx.engine.clock(), counted: false, owed: false },
    ...{ entries: entriesOf(calls, null), purchased, budgets: ofKeys(calls).map(([id]) => id) },
  });
  return [{ purchased, left }];
}

function* chargeCalls(tx: Transaction, calls: Call[], attempt: string): Steps<ChargedBatch[]> {
  const balances = new Map<string, Balance>();
  const budgets = new Map<string, KeyBudget>();
  for (const [id] of ofAccounts(calls)) {
    const balance = yield* tx.lock(BALANCES, id);
    if (balance !== null) balances.set(id, balance);
  }
  for (const [id] of ofKeys(calls)) {
    const budget = yield* tx.lock(BUDGETS, id);
    if (budget !== null) budgets.set(id, budget);
  }
  const now = ofKeys(calls).length === 0 ? tx.now : tx.engine.clock();
  for (const [id, balance] of balances) balances.set(id, opened(balance, now, tx));
  for (const [id, budget] of budgets) budgets.set(id, openedBudget(budget, now));
  const purchased: Record<string, number> = {};
  const short: string[] = [];
  const reasons: Record<string, Quota | SpentBudget> = {};
  const spent = calls.map(({ accountId, keyId, credits }) => {
    const balance = balances.get(accountId);
    const budget = budgets.get(keyId);
    const ofAccount = balance === undefined ? 0 : spendable(balance);
    const ofKey = budget === undefined ? Number.MAX_SAFE_INTEGER : budgetLeft(budget);
    const paid = Math.min(credits, ofAccount, ofKey);
    if (balance !== undefined) {
      const taken = purchasedOf(balance, paid);
      if (taken > 0) purchased[accountId] = (purchased[accountId] ?? 0) + taken;
      balances.set(accountId, debited(balance, paid));
    }
    if (budget !== undefined) budgets.set(keyId, { ...budget, used: budget.used + paid });
    const isOfKey = paid < credits && ofKey < ofAccount;
    short.push(paid === credits ? '' : isOfKey ? keyId : accountId);
    if (isOfKey) reasons[keyId] = spentBudget(tx, budget!);
    else if (paid < credits && balance !== undefined) reasons[accountId] = quotaOf(tx, balance);
    return paid;
  });
  for (const [id, balance] of balances) tx.write(BALANCES, id, balance);
  for (const [id, budget] of budgets) tx.write(BUDGETS, id, budget);
  if (sum(spent) > 0)
    yield* tx.insertNew(JOURNAL, attempt, {
      at: Math.max(now, ...[...budgets.values()].map(({ windowStart }) => windowStart)),
      ...{ spentAt: tx.engine.clock(), counted: false, owed: false },
      ...{ entries: entriesOf(calls, spent), purchased, budgets: [...budgets.keys()] },
    });
  const left = [
    ...[...balances].map(([id, balance]) => [id, spendable(balance)] as const),
    ...[...budgets].map(([id, budget]) => [id, budgetLeft(budget)] as const),
  ];
  return [{ spent, short, reasons, purchased, left: Object.fromEntries(left) }];
}

function* takeNumbers(tx: Transaction, amount: number): Steps<number> {
  const { last } = (yield* tx.lock(NUMBERS, ''))!;
  const taken = Math.max(last, tx.engine.clock());
  tx.write(NUMBERS, '', { last: taken + amount });
  return taken;
}

function* writeActivity(
  tx: Transaction,
  kind: ActivityPart['kind'],
  taken: number,
  rows: { accountId: string; keyId: string; callId: string; credits: number }[],
): Steps<void> {
  let last = taken;
  for (const accountId of sorted(rows.map((row) => row.accountId))) {
    const own = rows.filter((row) => row.accountId === accountId);
    last += own.length;
    const part = { accountId, kind, first: 1 + last - own.length, last, rows: own };
    yield* tx.insertNew(ACTIVITY, String(last).padStart(20, '0'), part);
  }
}

const activityOf = (entries: Entry[], sign: 1 | -1) =>
  entries.flatMap(({ accountId, keyId, calls, activity }) =>
    activity ? [{ accountId, keyId, callId: activity.split('\t')[0]!, credits: sign * calls }] : [],
  );

function* addToDays(tx: Transaction, rows: { at: number; entries: Entry[] }[], sign: 1 | -1): Steps<void> {
  const days = new Map<string, number>();
  for (const { at, entries } of rows)
    for (const { accountId, keyId, kind, calls } of entries) {
      const key = [accountId, dayOf(at), keyId, kind].join(' ');
      days.set(key, (days.get(key) ?? 0) + sign * calls);
    }
  for (const key of sorted([...days.keys()])) {
    const before = yield* tx.lock(DAYS, key);
    tx.write(DAYS, key, { calls: (before?.calls ?? 0) + days.get(key)! });
  }
}

/** Sets what a key has spent in the present window of its budget. The balance is locked. */
function* countSpent(tx: Transaction, id: string): Steps<void> {
  tx.snapshot();
  const budget = (yield* tx.lock(BUDGETS, id))!;
  const now = tx.engine.clock();
  const windowStart = Math.max(windowAt(budget.per, now), budget.windowStart);
  const used = callsOf(tx, budget.accountId, id, dayOf(windowStart));
  tx.write(BUDGETS, id, { ...budget, windowStart, countedAt: now, used });
}

/** Ends a claim, unless another sending has claimed the request. @returns whether it was there */
function* endIfOurs(
  tx: Transaction,
  { request, sending }: Pick<Claim, 'request' | 'sending'>,
  set: (row: KeyedRequest) => KeyedRequest,
): Steps<boolean> {
  const ended = yield* tx.update(
    REQUESTS,
    request,
    (row) => row.sending === sending,
    (row) => ({ ...set(row), sending: null }),
  );
  return ended !== undefined;
}

const SETTLE_MS = 40 * SECOND;
const LIVE_MS = 30 * SECOND;

/** Statements that wait for no lock, by their names. */
const READS: Record<string, (tx: Transaction, ...args: never[]) => unknown> = {
  findLocked(tx, ids: string[]) {
    return sorted(ids)
      .filter((id) => tx.read(BALANCES, id) === null || !tx.tryLock(BALANCES, id))
      .map((id) => ({ id }));
  },

  makeActivityDays() {
    return [];
  },

  /** Uses of keys and counts of errors are no credits: the model keeps none. */
  storeCounts() {
    return [];
  },

  owedRows(tx, last?: { attempt: string }) {
    return tx
      .scan(JOURNAL)
      .filter(([id, row]) => row.owed && row.entries.length > 0 && id > (last?.attempt ?? ''))
      .slice(0, ROWS_AT_ONCE)
      .map(([attempt, { entries }]) => ({
        attempt,
        accountIds: entries.map(({ accountId }) => accountId),
        part: 0,
      }));
  },

  purgeJournal(tx) {
    const isOld = (row: JournalRow) =>
      row.counted && row.spentAt < tx.now - REFUND_WINDOW_MS * US && (!row.owed || row.entries.length === 0);
    for (const [attempt, row] of tx.scan(JOURNAL)) {
      if (!isOld(row) || !tx.tryLock(JOURNAL, attempt)) continue;
      tx.write(JOURNAL, attempt, null);
    }
    for (const [request, { liveUntil }] of tx.scan(REQUESTS))
      if (liveUntil < tx.now - REFUND_WINDOW_MS * US && tx.tryLock(REQUESTS, request))
        tx.write(REQUESTS, request, null);
  },

  readLeft(tx, callers: Pick<Call, 'accountId' | 'keyId'>[]) {
    return callers.map(({ accountId, keyId }) => {
      const balance = tx.read(BALANCES, accountId);
      if (balance === null) return { credits: 0, reason: null };
      const ofAccount = spendable(opened(balance, tx.now, tx));
      const found = tx.read(BUDGETS, keyId);
      const budget = found && openedBudget(found, tx.now);
      const credits = Math.min(ofAccount, budget ? budgetLeft(budget) : ofAccount);
      if (credits > 0) return { credits, reason: null };
      return { credits, reason: ofAccount > 0 ? spentBudget(tx, budget!) : quotaOf(tx, balance) };
    });
  },

  callersQuery(tx, hashes: string[]) {
    return tx.scan(KEYS).flatMap(([keyId, { accountId, hash, expiresAt }]) => {
      if (!hashes.includes(hash)) return [];
      const budget = tx.read(BUDGETS, keyId);
      const caller: Caller = {
        ...{ keyId, accountId, plan: 'free', requestsPerMinute: 1_000_000, isTest: false, only: null },
        budget: budget?.credits == null ? null : { credits: budget.credits, per: budget.per },
      };
      const endsInMs = expiresAt === null ? null : (expiresAt - tx.now) / US;
      const isRefused = endsInMs !== null && endsInMs <= 0;
      return [{ ...caller, hash, endsInMs, isRefused, isConnection: false, usedAs: hash }];
    });
  },

  dueBudgets(tx) {
    return tx
      .scan(BUDGETS)
      .flatMap(([id, { settlesAt }]) => (settlesAt !== null && settlesAt < tx.now ? [id] : []));
  },
};

/** Of a charge that has not arrived, so that it never will be. */
const voidRow = (tx: Transaction) => ({ ...EMPTY, at: tx.now, spentAt: tx.engine.clock(), owed: true });

function* voidAttempt(tx: Transaction, attempt: string): Steps<unknown> {
  const found = yield* tx.insert(JOURNAL, attempt, voidRow(tx));
  if (found !== null) tx.write(JOURNAL, attempt, { ...found, owed: true });
  return [];
}

/** Inserts rows that owe credits. */
function* storeRefunds(tx: Transaction, refunds: Refund[]): Steps<unknown> {
  for (const { id, attempt, purchased, ...call } of refunds.toSorted((one, other) =>
    one.id < other.id ? -1 : 1,
  )) {
    const charge = tx.read(JOURNAL, attempt);
    if (charge === null) continue;
    yield* tx.insert(JOURNAL, id, {
      ...{ at: charge.at, spentAt: charge.spentAt, counted: true, owed: true, budgets: charge.budgets },
      ...{ entries: entriesOf([call], null), purchased: { [call.accountId]: purchased } },
    });
  }
  return [];
}

/** The other statements. */
const WRITES: Record<string, (tx: Transaction, ...args: never[]) => Steps<unknown>> = {
  *lockBalance(tx, id: string) {
    yield* tx.lock(BALANCES, id);
    return [];
  },

  chargeAtOnce,
  chargeCalls,

  voidAttempt,

  refundCredits: storeRefunds,

  *claimRequest(
    tx,
    { accountId, keyId }: Pick<Call, 'accountId' | 'keyId'>,
    request: string,
    sending: string,
  ) {
    const clock = () => tx.engine.clock();
    const fresh = {
      sending,
      liveUntil: clock() + LIVE_MS * US,
      kept: 0,
      keptAt: null,
      shortOf: null,
      keyId: null,
    };
    const known = (yield* tx.insert(REQUESTS, request, fresh)) ?? fresh;
    tx.snapshot();
    const now = clock();
    const isOther = known.sending !== null && known.sending !== sending;
    if (isOther && now < known.liveUntil) {
      const waitS = Math.max(Math.ceil((known.liveUntil - now) / (SECOND * US)), 1);
      return [{ isOurs: false, waitS, kept: 0, quota: null, budget: null }];
    }
    let kept = known;
    if (isOther) {
      const charge = yield* tx.insert(JOURNAL, known.sending!, {
        ...EMPTY,
        at: tx.now,
        spentAt: now,
        owed: true,
      });
      const [entry] = charge?.owed ? [] : (charge?.entries ?? []);
      if (entry !== undefined)
        kept = { ...known, kept: entry.calls, keptAt: charge!.spentAt, shortOf: null, keyId: entry.keyId };
    }
    if (kept.keptAt !== null && kept.keptAt < now - REPEAT_WINDOW_MS * US) kept = { ...kept, kept: 0 };
    tx.write(REQUESTS, request, { ...kept, sending, liveUntil: now + LIVE_MS * US });
    const quota = kept.shortOf === 'account' ? quotaOf(tx, tx.read(BALANCES, accountId)!) : null;
    const ofKey = kept.shortOf === 'key' && kept.keyId === keyId ? tx.read(BUDGETS, keyId) : null;
    const windowStart = ofKey && Math.max(ofKey.windowStart, windowAt(ofKey.per, tx.now));
    const budget = ofKey?.credits == null ? null : spentBudget(tx, { ...ofKey, windowStart: windowStart! });
    return [{ isOurs: true, waitS: null, kept: kept.kept, quota, budget }];
  },

  *releaseClaim(tx, { request, sending }: Claim) {
    yield* endIfOurs(tx, { request, sending }, (row) => row);
    return [];
  },

  *endClaim(tx, { claim, charged, refund }: ClaimEnd) {
    const shortOf = charged.budget ? ('key' as const) : charged.quota ? ('account' as const) : null;
    const kept = { kept: charged.spent - refund.credits, keptAt: tx.now, shortOf, keyId: refund.keyId };
    if (!(yield* endIfOurs(tx, claim, (row) => ({ ...row, ...kept })))) return [];
    return yield* storeRefunds(tx, refund.credits > 0 ? [refund] : []);
  },

  *voidSending(tx, claim: Claim) {
    return (yield* endIfOurs(tx, claim, (row) => row)) ? yield* voidAttempt(tx, claim.sending) : [];
  },

  *refundRows(tx, attempts: string[], amount: number) {
    const taken = yield* takeNumbers(tx, amount);
    const rows: JournalRow[] = [];
    for (const attempt of sorted(attempts)) {
      const batch = yield* tx.update(
        JOURNAL,
        attempt,
        (row) => row.owed && row.entries.length > 0,
        (row) => ({ ...row, entries: [], purchased: {}, budgets: [], counted: true }),
      );
      if (batch !== undefined)
        rows.push({ ...batch.old, entries: batch.old.entries.filter(({ calls }) => calls > 0) });
    }
    const counted = rows.filter((row) => row.counted);
    yield* addToDays(tx, counted, -1);
    yield* writeActivity(
      tx,
      'return',
      taken,
      counted.flatMap(({ entries }) => activityOf(entries, -1)),
    );
    const entries = rows.flatMap((row) => row.entries);
    for (const id of sorted(entries.map(({ accountId }) => accountId))) {
      const b = yield* tx.lock(BALANCES, id);
      if (b === null) continue;
      const own = rows.filter((row) => row.entries.some(({ accountId }) => accountId === id));
      const [current, earlier] = [true, false].map((isCurrent) => {
        const those = own.filter(({ spentAt }) => b.periodOpenedAt <= spentAt === isCurrent);
        return {
          calls: sum(those.map((row) => callsIn(row.entries, (entry) => entry.accountId === id))),
          purchased: sum(those.map(({ purchased }) => purchased[id] ?? 0)),
        };
      });
      const back = Math.min(
        current!.calls,
        b.usedPurchased,
        Math.max(current!.purchased, b.used - b.included),
      );
      const backBefore = Math.min(earlier!.purchased, b.purchasedBefore);
      tx.write(BALANCES, id, {
        ...b,
        credits: b.credits + back + backBefore,
        used: Math.max(b.used - current!.calls, 0),
        usedPurchased: b.usedPurchased - back,
        purchasedBefore: b.purchasedBefore - backBefore,
      });
    }
    for (const keyId of sorted(entries.map((entry) => entry.keyId))) {
      const budget = yield* tx.lock(BUDGETS, keyId);
      if (budget === null) continue;
      const those = rows.filter(
        ({ at, spentAt, budgets }) =>
          at >= budget.windowStart && (budgets.includes(keyId) || spentAt < budget.countedAt),
      );
      const calls = sum(those.map((row) => callsIn(row.entries, (entry) => entry.keyId === keyId)));
      tx.write(BUDGETS, keyId, { ...budget, used: Math.max(budget.used - calls, 0) });
    }
    return [];
  },

  *rollUpCalls(tx, atOnce = 2000) {
    const isFresh = (row: JournalRow) => !row.counted && !row.owed;
    if (!tx.scan(JOURNAL).some(([, row]) => isFresh(row))) return { rows: 0, isFull: false };
    const taken = yield* takeNumbers(tx, 20_000);
    const batch: JournalRow[] = [];
    const seen = tx.scan(JOURNAL).filter(([, row]) => isFresh(row));
    for (const [attempt] of seen.slice(0, atOnce)) {
      if (!tx.tryLock(JOURNAL, attempt)) continue;
      const row = tx.current(JOURNAL, attempt);
      if (row === null || !isFresh(row)) continue;
      tx.write(JOURNAL, attempt, { ...row, counted: true });
      batch.push({ ...row, entries: row.entries.filter(({ calls }) => calls > 0) });
    }
    yield* addToDays(tx, batch, 1);
    yield* writeActivity(
      tx,
      'charge',
      taken,
      batch.flatMap(({ entries }) => activityOf(entries, 1)),
    );
    return { rows: batch.length, isFull: batch.length >= atOnce };
  },

  *writeAnswers(tx, rows: { accountId: string; keyId: string; callId: string | null }[]) {
    const taken = yield* takeNumbers(tx, rows.length);
    const answers = rows.map((row) => ({ ...row, callId: row.callId ?? '', credits: 0 }));
    yield* writeActivity(tx, 'answer', taken, answers);
    return [];
  },

  // Operators.

  *settleBudget(tx, id: string) {
    const { accountId } = tx.read(BUDGETS, id)!;
    yield* tx.lock(BALANCES, accountId);
    tx.write(BUDGETS, id, { ...(yield* tx.lock(BUDGETS, id))!, settlesAt: null });
    yield* countSpent(tx, id);
  },

  *limitKey(tx, id: string, budget: Budget | null) {
    yield* tx.lock(KEYS, id);
    const { accountId } = tx.read(BUDGETS, id)!;
    yield* tx.lock(BALANCES, accountId);
    const before = (yield* tx.lock(BUDGETS, id))!;
    const limited: KeyBudget = {
      ...before,
      ...budget,
      windowStart: before.per === budget?.per ? before.windowStart : FOREVER,
      settlesAt: before.credits === null ? tx.engine.clock() + SETTLE_MS * US : before.settlesAt,
    };
    tx.write(BUDGETS, id, budget === null ? { ...before, credits: null } : limited);
    if (budget !== null) yield* countSpent(tx, id);
  },

  *expireKey(tx, id: string, expiresAt: number) {
    const key = (yield* tx.lock(KEYS, id))!;
    tx.write(KEYS, id, { ...key, expiresAt });
  },

  *changeBalance(tx, id: string, change: (balance: Balance, now: number) => Balance) {
    const balance = (yield* tx.lock(BALANCES, id))!;
    tx.write(BALANCES, id, change(balance, tx.engine.clock()));
  },
};

/** Runs a statement by its name. */
export function* runStatement(tx: Transaction, name: string, args: unknown[]): Steps<unknown> {
  const read = READS[name];
  const write = WRITES[name];
  if (write !== undefined) return yield* write(tx, ...(args as never[]));
  if (read === undefined) throw new Error(`the model has no statement ${name}`);
  yield 'pause';
  return read(tx, ...(args as never[]));
}
