/** The statements of the ledger (seam.ts), over the engine: which rows each reads, locks and writes, in the order in which Postgres does. */
import {
  type Call,
  type Claim,
  REPEAT_WINDOW_MS,
  type Shortage,
} from '../../../src/metering/credits/call.ts';
import type { ChargedBatch } from '../../../src/metering/credits/charge-batch.ts';
import type { ClaimEnd } from '../../../src/metering/credits/claim.ts';
import { REFUND_WINDOW_MS, type Refund } from '../../../src/metering/credits/refund.ts';
import type { Caller } from '../../../src/metering/keys/authenticate.ts';
import type { Budget } from '../../../src/metering/keys/limits.ts';
import { SECOND } from '../../../src/platform/units.ts';
import { PostgresError, type Steps, type Transaction } from './engine.ts';
import {
  ACTIVITY,
  type ActivityPart,
  COUNTERS,
  type Counter,
  callsIn,
  callsOf,
  DAYS,
  dayOf,
  type Entry,
  endOf,
  FOREVER,
  JOURNAL,
  type JournalRow,
  KEYS,
  type KeyedRequest,
  NUMBERS,
  REQUESTS,
  sorted,
  sum,
  US,
  windowAt,
} from './tables.ts';

const ROWS_AT_ONCE = 1000;

/** The counter in the window of an instant (SQL: `counter_at`). */
function opened(counter: Counter, now: number, { engine }: Transaction): Counter {
  if (now < counter.end) return counter;
  const per = counter.per ?? 'month';
  const start = windowAt(per, now);
  return {
    ...counter,
    ...{ start, end: endOf(per, start), used: 0, usedPurchased: 0 },
    purchasedBefore: counter.purchasedBefore + counter.usedPurchased,
    openedAt: counter.per === null ? engine.clock() : counter.openedAt,
  };
}

const includedLeft = ({ included, used }: Counter) =>
  Math.max((included ?? Number.MAX_SAFE_INTEGER) - used, 0);
const spendable = (counter: Counter) =>
  includedLeft(counter) + (counter.spendsPurchased ? counter.credits : 0);

const entriesOf = (calls: Call[], spent: number[] | null): Entry[] =>
  calls.map(({ accountId, keyId, kind, credits, activity }, index) => ({
    ...{ accountId, keyId, kind, activity },
    calls: spent?.[index] ?? credits,
  }));

/** The amounts of the counters that calls are charged to, in the order of the locks: an account has the lower id. */
function amounts(calls: Call[]): [id: string, credits: number][] {
  const limited = new Set(calls.filter(({ hasBudget }) => hasBudget).map(({ keyId }) => keyId));
  const charged = calls.flatMap(({ accountId, keyId, credits }) =>
    [accountId, ...(limited.has(keyId) ? [keyId] : [])].map((id) => ({ id, credits })),
  );
  return sorted(charged.map(({ id }) => id)).map((id) => [
    id,
    sum(charged.map((each) => (each.id === id ? each.credits : 0))),
  ]);
}

function debited(counter: Counter, paid: number): Counter {
  const taken = Math.max(paid - includedLeft(counter), 0);
  const { used, usedPurchased, credits } = counter;
  return {
    ...counter,
    ...{ used: used + paid, usedPurchased: usedPurchased + taken, credits: credits - taken },
  };
}

/** Why a counter refuses in its window (SQL: `refusal_of`). */
function refusalOf(tx: Transaction, { per, included, end }: Counter): Shortage {
  if (end === Number.POSITIVE_INFINITY)
    return { credits: included!, per: 'ever', resetAt: null, retryAfterS: null };
  const reset = {
    resetAt: new Date(end / US).toISOString(),
    retryAfterS: Math.max(Math.ceil((end - tx.now) / (SECOND * US)), 1),
  };
  return per === null ? { limit: included!, ...reset } : { credits: included!, per, ...reset };
}

const isOfKey = ({ per }: Counter) => per !== null;

function* chargeAtOnce(tx: Transaction, calls: Call[], attempt: string): Steps<ChargedBatch[]> {
  const purchased: Record<string, number> = {};
  const budgets: string[] = [];
  for (const [id, credits] of amounts(calls)) {
    const canPay = (c: Counter) => tx.now >= c.start && tx.now < c.end && credits <= spendable(c);
    const found = yield* tx.update(COUNTERS, id, canPay, (c) => debited(c, credits));
    if (found === undefined) throw new PostgresError('U0001');
    if (found.old.credits > found.new.credits) purchased[id] = found.old.credits - found.new.credits;
    if (isOfKey(found.new)) budgets.push(id);
  }
  yield* tx.insertNew(JOURNAL, attempt, {
    ...{ at: tx.now, spentAt: tx.engine.clock(), counted: false, owed: false },
    ...{ entries: entriesOf(calls, null), purchased, budgets },
  });
  return [{ purchased }];
}

function* chargeCalls(tx: Transaction, calls: Call[], attempt: string): Steps<ChargedBatch[]> {
  const counters = new Map<string, Counter>();
  for (const [id] of amounts(calls)) {
    const counter = yield* tx.lock(COUNTERS, id);
    if (counter !== null) counters.set(id, counter);
  }
  const now = calls.some(({ hasBudget }) => hasBudget) ? tx.engine.clock() : tx.now;
  for (const [id, counter] of counters) counters.set(id, opened(counter, now, tx));
  const credits = new Map([...counters].map(([id, counter]) => [id, counter.credits]));
  const short: string[] = [];
  const spent = calls.map((call) => {
    const own = [call.accountId, call.keyId].flatMap((id) => {
      const counter = counters.get(id);
      return counter === undefined ? [] : [{ id, counter, left: spendable(counter) }];
    });
    // Of two equal bounds the account's is the reason.
    const bound = own.toSorted((one, other) => one.left - other.left)[0] ?? { id: call.accountId, left: 0 };
    const isGone = !counters.has(call.accountId);
    const paid = isGone ? 0 : Math.min(call.credits, bound.left);
    for (const { id, counter } of own) counters.set(id, debited(counter, paid));
    short.push(paid === call.credits ? '' : isGone ? call.accountId : bound.id);
    return paid;
  });
  const purchased: Record<string, number> = {};
  for (const [id, counter] of counters) {
    tx.write(COUNTERS, id, counter);
    const taken = credits.get(id)! - counter.credits;
    if (taken > 0) purchased[id] = taken;
  }
  const ofKeys = [...counters].filter(([, counter]) => isOfKey(counter));
  if (sum(spent) > 0)
    yield* tx.insertNew(JOURNAL, attempt, {
      at: Math.max(now, ...ofKeys.map(([, { start }]) => start)),
      ...{ spentAt: tx.engine.clock(), counted: false, owed: false },
      ...{ entries: entriesOf(calls, spent), purchased, budgets: ofKeys.map(([id]) => id) },
    });
  const refusing = [...counters].filter(([id]) => short.includes(id));
  const reasons = Object.fromEntries(refusing.map(([id, counter]) => [id, refusalOf(tx, counter)]));
  return [{ spent, short, reasons, purchased }];
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

/** Sets what a key has spent in the present window of its budget. The account's counter is locked. */
function* countSpent(tx: Transaction, id: string): Steps<void> {
  tx.snapshot();
  const counter = (yield* tx.lock(COUNTERS, id))!;
  const openedAt = tx.engine.clock();
  const start = Math.max(windowAt(counter.per!, openedAt), counter.start);
  const used = callsOf(tx, counter.accountId, id, dayOf(start));
  tx.write(COUNTERS, id, { ...counter, start, end: endOf(counter.per!, start), openedAt, used });
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
      .filter((id) => tx.read(COUNTERS, id) === null || !tx.tryLock(COUNTERS, id))
      .map((id) => ({ id }));
  },

  makeActivityDays() {
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
      const counters = [accountId, keyId].flatMap((id) => {
        const counter = tx.read(COUNTERS, id);
        return counter === null ? [] : [opened(counter, tx.now, tx)];
      });
      const [tightest] = counters.toSorted((one, other) => spendable(one) - spendable(other));
      if (tightest === undefined) return { credits: 0, reason: null };
      const credits = spendable(tightest);
      return { credits, reason: credits > 0 ? null : refusalOf(tx, tightest) };
    });
  },

  callersQuery(tx, hashes: string[]) {
    return tx.scan(KEYS).flatMap(([keyId, { accountId, hash, expiresAt }]) => {
      if (!hashes.includes(hash)) return [];
      const { per, included } = tx.read(COUNTERS, keyId)!;
      const caller: Caller = {
        ...{ keyId, accountId, plan: 'free', requestsPerMinute: 1_000_000, isTest: false, only: null },
        budget: included === null ? null : { credits: included, per: per! },
      };
      const endsInMs = expiresAt === null ? null : (expiresAt - tx.now) / US;
      const isRefused = endsInMs !== null && endsInMs <= 0;
      return [{ ...caller, hash, endsInMs, isRefused, isConnection: false, usedAs: hash }];
    });
  },

  dueBudgets(tx) {
    return tx
      .scan(COUNTERS)
      .flatMap(([id, { settlesAt }]) => (settlesAt !== null && settlesAt < tx.now ? [id] : []));
  },
};

/** Of a charge that has not arrived, so that it never will be. */
const voidRow = (tx: Transaction) => ({
  ...{ at: tx.now, spentAt: tx.engine.clock(), counted: true, owed: true },
  ...{ entries: [], purchased: {}, budgets: [] },
});

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
    yield* tx.lock(COUNTERS, id);
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
      return [{ isOurs: false, waitS, kept: 0, reason: null }];
    }
    let kept = known;
    if (isOther) {
      const charge = yield* tx.insert(JOURNAL, known.sending!, voidRow(tx));
      const [entry] = charge?.owed ? [] : (charge?.entries ?? []);
      if (entry !== undefined)
        kept = { ...known, kept: entry.calls, keptAt: charge!.spentAt, shortOf: null, keyId: entry.keyId };
    }
    if (kept.keptAt !== null && kept.keptAt < now - REPEAT_WINDOW_MS * US) kept = { ...kept, kept: 0 };
    tx.write(REQUESTS, request, { ...kept, sending, liveUntil: now + LIVE_MS * US });
    const shortId = { account: accountId, key: kept.keyId === keyId ? keyId : null }[kept.shortOf!];
    const counter = shortId ? tx.read(COUNTERS, shortId) : null;
    const reason = counter?.included == null ? null : refusalOf(tx, opened(counter, tx.now, tx));
    return [{ isOurs: true, waitS: null, kept: kept.kept, reason }];
  },

  *releaseClaim(tx, { request, sending }: Claim) {
    yield* endIfOurs(tx, { request, sending }, (row) => row);
    return [];
  },

  *endClaim(tx, { claim, charged, refund }: ClaimEnd) {
    const shortOf = charged.reason && ('per' in charged.reason ? ('key' as const) : ('account' as const));
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
    for (const id of sorted(entries.flatMap(({ accountId, keyId }) => [accountId, keyId]))) {
      const c = yield* tx.lock(COUNTERS, id);
      if (c === null) continue;
      const isOwn = ({ accountId, keyId }: Entry) => accountId === id || keyId === id;
      const own = rows.filter((row) => row.entries.some(isOwn));
      const isCurrent = ({ at, spentAt, budgets }: JournalRow) =>
        isOfKey(c) ? at >= c.start && (budgets.includes(id) || spentAt < c.openedAt) : c.openedAt <= spentAt;
      const current = own.filter(isCurrent);
      const purchasedIn = (those: JournalRow[]) => sum(those.map(({ purchased }) => purchased[id] ?? 0));
      const calls = sum(current.map((row) => callsIn(row.entries, isOwn)));
      const back = Math.min(
        calls,
        c.usedPurchased,
        Math.max(purchasedIn(current), c.used - (c.included ?? 0)),
      );
      const earlier = own.filter((row) => !isCurrent(row));
      const backBefore = Math.min(purchasedIn(earlier), c.purchasedBefore);
      tx.write(COUNTERS, id, {
        ...c,
        credits: c.credits + back + backBefore,
        used: Math.max(c.used - calls, 0),
        usedPurchased: c.usedPurchased - back,
        purchasedBefore: c.purchasedBefore - backBefore,
      });
    }
    return [];
  },

  *rollUpCalls(tx) {
    const isFresh = (row: JournalRow) => !row.counted && !row.owed;
    if (!tx.scan(JOURNAL).some(([, row]) => isFresh(row))) return { rows: 0, isFull: false };
    const taken = yield* takeNumbers(tx, 20_000);
    const batch: JournalRow[] = [];
    const seen = tx.scan(JOURNAL).filter(([, row]) => isFresh(row));
    for (const [attempt] of seen) {
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
    return { rows: batch.length, isFull: false };
  },

  // Operators.

  *settleBudget(tx, id: string) {
    yield* tx.lock(COUNTERS, tx.read(COUNTERS, id)!.accountId);
    tx.write(COUNTERS, id, { ...(yield* tx.lock(COUNTERS, id))!, settlesAt: null });
    yield* countSpent(tx, id);
  },

  *limitKey(tx, id: string, budget: Budget | null) {
    yield* tx.lock(KEYS, id);
    yield* tx.lock(COUNTERS, tx.read(COUNTERS, id)!.accountId);
    const before = (yield* tx.lock(COUNTERS, id))!;
    if (budget === null) return tx.write(COUNTERS, id, { ...before, included: null });
    tx.write(COUNTERS, id, {
      ...{ ...before, per: budget.per, included: budget.credits },
      start: before.per === budget.per ? before.start : FOREVER,
      settlesAt: before.included === null ? tx.engine.clock() + SETTLE_MS * US : before.settlesAt,
    });
    yield* countSpent(tx, id);
  },

  *expireKey(tx, id: string, expiresAt: number) {
    const key = (yield* tx.lock(KEYS, id))!;
    tx.write(KEYS, id, { ...key, expiresAt });
  },

  *changeAccount(tx, id: string, change: (counter: Counter, now: number) => Partial<Counter>) {
    const counter = (yield* tx.lock(COUNTERS, id))!;
    tx.write(COUNTERS, id, { ...counter, ...change(counter, tx.engine.clock()) });
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
