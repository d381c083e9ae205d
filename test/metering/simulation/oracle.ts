/** What must be true after a history, when everything has healed. */
import { type Engine, Transaction } from './engine.ts';
import type { Account, CallAction, History } from './history.ts';
import { ACTIVITY, type ActivityPart, COUNTERS, callsOf, DAYS, dayOf, sum } from './tables.ts';
import { type Process, world } from './world.ts';

export interface Call {
  id: string;
  action: CallAction;
  account: string;
  keyId: string;
  process: Process;
  sentMs: number;
  /** When its handler had its answer. */
  workedMs: number;
  answeredMs: number | null;
  /** Its instance died before it was answered. */
  isLost: boolean;
  /** It was answered, and its void or its refund may have died with its instance. */
  isExcused: boolean;
  isRepeated: boolean;
  /** Credits that it could use, those that it did use, and those of `X-Credits`. */
  spent: number;
  used: number;
  charged: number;
  left: number | null;
  /** Which gave it fewer credits than it needs. */
  bound: 'account' | 'key' | null;
  /** Of its answer; `null` means that it is a success. */
  problem: string | null;
}

/** Reads the activity of every account as a client follows it: now and then what comes behind its last row. */
export function createReader(engine: Engine, accounts: Account[], isOn: boolean) {
  const parts = new Map<string, ActivityPart[]>(accounts.map(({ id }) => [id, []]));
  function read() {
    for (const [, part] of engine.all(ACTIVITY)) {
      const own = parts.get(part.accountId)!;
      if (part.last > (own.at(-1)?.last ?? 0)) own.push(part);
    }
    return parts;
  }
  const poll = () => {
    read();
    world.after(700, poll, null);
  };
  if (isOn) poll();
  return { read };
}

interface Seen {
  calls: Call[];
  /** By call, the attempt that charged it. */
  attempts: Map<string, string>;
  followed: Map<string, ActivityPart[]>;
}

export function judge(
  { accounts, actions }: History,
  engine: Engine,
  { calls, attempts, followed }: Seen,
): string[] {
  const problems: string[] = [];
  const expect = (isTrue: boolean, what: string) => {
    if (!isTrue) problems.push(what);
  };
  const activity = engine.all(ACTIVITY).map(([, part]) => part);
  const now = new Transaction(engine, 'the oracle');

  const net = new Map<string, number>();
  for (const { callId, credits } of activity.flatMap(({ rows }) => rows)) {
    net.set(callId, (net.get(callId) ?? 0) + credits);
    expect(net.get(callId)! >= 0, `call ${callId}: its return is before its charge in the activity`);
  }
  const inDoubt: Call[] = [];
  for (const call of calls.filter(({ action }) => action.request === null)) {
    const counted = net.get(call.id) ?? 0;
    const what = `call ${call.id}: ${counted} credits counted, X-Credits ${call.charged}, used ${call.used}`;
    if (call.isLost) expect(counted >= 0 && counted <= call.action.credits, what);
    else if (call.isExcused) {
      expect(counted >= call.charged && counted <= Math.max(call.spent, call.action.credits), what);
      if (counted > call.spent) inDoubt.push(call);
    } else expect(counted === call.charged && counted === call.used, what);
  }
  // A process that dies leaves at most the batch charged that it was about to void.
  for (const [, ofProcess] of Map.groupBy(inDoubt, ({ process }) => process))
    expect(
      new Set(ofProcess.map(({ id }) => attempts.get(id))).size === 1,
      `several batches of a dead process stay charged: calls ${ofProcess.map(({ id }) => id)}`,
    );
  const keyed = Map.groupBy(
    calls.filter(({ action }) => action.request !== null),
    ({ account, action }) => `${account} ${action.request}`,
  );
  for (const [request, sendings] of keyed) {
    const counted = sum(sendings.map(({ id }) => net.get(id) ?? 0));
    for (const { id, isRepeated, charged } of sendings)
      expect(!isRepeated || charged === 0, `call ${id} repeats a request, and says X-Credits ${charged}`);
    const used = Math.max(...sendings.map((call) => call.used));
    const most = Math.max(...sendings.map(({ action }) => action.credits));
    const isUnsure = sendings.some(({ isLost, isExcused }) => isLost || isExcused);
    const times = sendings.map(({ sentMs }) => sentMs);
    // Ten minutes later it is another request.
    if (Math.max(...times) - Math.min(...times) > 9 * 60_000) continue;
    const isRight = isUnsure ? counted >= used && counted <= most : counted === used;
    expect(
      isRight,
      `request ${request}: ${counted} credits counted, ${used} used by ${sendings.length} sendings`,
    );
  }

  for (const { sentMs, keyId, spent } of calls) {
    const end = actions.find(
      (action) => action.kind === 'expire' && accounts[action.account]!.keys[action.key]!.id === keyId,
    );
    // Known 5 s later at the latest (docs/commands.md).
    if (end !== undefined && sentMs > end.atMs + 6000)
      expect(spent === 0, `${keyId} has expired, and pays ${spent}`);
  }

  for (const { id, included, keys } of accounts) {
    const balance = now.read(COUNTERS, id)!;
    const own = activity.filter(({ accountId }) => accountId === id);
    const inActivity = sum(own.flatMap(({ rows }) => rows.map(({ credits }) => credits)));
    const inDays = callsOf(now, id, null);
    expect(inActivity === inDays, `${id}: ${inActivity} credits in the activity, ${inDays} by day`);
    expect(
      sum(keys.map((key) => callsOf(now, id, key.id))) === inDays,
      `${id}: its keys' calls are not its calls by day`,
    );
    const changes = actions.filter((action) => 'account' in action && accounts[action.account]!.id === id);
    const hasNewPeriod =
      changes.some(({ kind }) => kind === 'period') || balance.openedAt > openedAtStart(engine);
    if (!hasNewPeriod) expect(balance.used === inDays, `${id}: used ${balance.used}, ${inDays} by day`);
    if (!changes.some(({ kind }) => kind === 'included'))
      expect(
        balance.usedPurchased === Math.max(0, balance.used - included),
        `${id}: ${balance.usedPurchased} purchased of ${balance.used} used, ${included} included`,
      );
    const rows = (parts: ActivityPart[]) =>
      JSON.stringify(parts.toSorted((one, other) => one.last - other.last));
    expect(rows(followed.get(id)!) === rows(own), `${id}: a reader of the activity missed rows`);
    for (const { id: keyId, budget } of keys) {
      const stored = now.read(COUNTERS, keyId)!;
      if (stored.included === null || stored.settlesAt !== null) continue;
      const ofKey = callsOf(now, id, keyId, dayOf(stored.start));
      expect(stored.used === ofKey, `${keyId}: its budget has counted ${stored.used} of ${ofKey} credits`);
      const isConstant = budget !== null && !changes.some((action) => action.kind === 'budget');
      if (isConstant)
        expect(stored.used <= budget.credits, `${keyId}: ${stored.used} of ${budget.credits} credits`);
    }
  }
  const negative = engine.all(DAYS).filter(([, { calls }]) => calls < 0);
  expect(negative.length === 0, `days below 0: ${negative.map(([key]) => key)}`);
  return problems;
}

/** Microseconds at the beginning of the history. */
const openedAtStart = (engine: Engine) => engine.clock() - world.nowMs * 1000;
