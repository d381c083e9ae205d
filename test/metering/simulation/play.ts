/** Plays a history with the service's own pipeline and ledger, and asks the oracle about its end. */

import { type Answer, ok, unavailable } from '../../../src/http/answer.ts';
import { CREDITS_HEADER } from '../../../src/http/api-route.ts';
import { changeLimits } from '../../../src/metering/accounts/changes.ts';
import { grantCredits } from '../../../src/metering/accounts/grant.ts';
import { createPipeline } from '../../../src/metering/admission/pipeline.ts';
import type { CallContext, Payment } from '../../../src/metering/admission/quote.ts';
import { entryOf } from '../../../src/metering/credits/activity.ts';
import { createCredits } from '../../../src/metering/credits/charge.ts';
import { startCallRollup } from '../../../src/metering/credits/rollup.ts';
import { createAuthenticator } from '../../../src/metering/keys/authenticate.ts';
import { limitKey } from '../../../src/metering/keys/limit-key.ts';
import type { Log } from '../../../src/platform/observability/log.ts';
import type { Sql } from '../../../src/platform/postgres/connect.ts';
import { Engine, type Transaction } from './engine.ts';
import { type Account, type Action, type CallAction, HEALED_MS, type History, hashOf } from './history.ts';
import { type Call, createReader, judge } from './oracle.ts';
import { connect, type Execute, type Faults, inModel, inPostgres, type StoreParts } from './store.ts';
import {
  COUNTERS,
  type Counter,
  endOf,
  FOREVER,
  JOURNAL,
  KEYS,
  NUMBERS,
  nextPeriodEnd,
  windowAt,
} from './tables.ts';
import { createRandom, type Process, world } from './world.ts';

export interface Played {
  problems: string[];
  calls: Call[];
  engine: Engine;
}

export interface PlayOptions {
  /** For a comparison: statements run one after another, each in one instant, in the model or in Postgres. Nothing is judged. */
  compared?: 'model' | Sql;
  /** Gets what happened, line by line. */
  trace?: (line: string) => void;
}

type Instance = Process & { serve: ReturnType<typeof createPipeline>['serve']; close(): Promise<void> };

/** Everybody has an answer within the waits for the key, its charge and its refund, and the work of the handler. */
const LONGEST_ANSWER_MS = 7000;
/** A sending of a request waits so long for another one, and then claims it. */
const LONGEST_WAIT_MS = 22_000;
const longestAnswerMs = ({ action: { workMs, request } }: Call) =>
  LONGEST_ANSWER_MS + workMs + (request === null ? 0 : LONGEST_WAIT_MS);
const LONGEST_STOP_MS = 9000;

export async function play(history: History, options: PlayOptions = {}): Promise<Played> {
  const { seed, startMs, accounts, actions } = history;
  world.begin(seed, startMs);
  const random = createRandom(seed ^ 0x5bd1e995);
  const problems: string[] = [];
  const faults: Faults = { rate: 0, downUntilMs: 0, count: 0 };
  const calls: Call[] = [];
  const note = (line: string) => options.trace?.(`${world.nowMs} ${line}`);
  const { compared } = options;
  const sql = compared === 'model' ? undefined : compared;
  const engine = new Engine(random, compared !== undefined, (row, value) => check(row, value, problems));
  const inStore = sql === undefined ? inModel(engine) : inPostgres(sql);
  /** The attempt that charged a call. */
  const attempts = new Map<string, string>();
  const execute: Execute = (...statement) => {
    const [name, [charged, attempt]] = statement;
    if (name.startsWith('charge'))
      for (const { activity } of charged as { activity: string }[])
        attempts.set(activity.split('\t')[0]!, attempt as string);
    inStore(...statement);
  };
  const parts: StoreParts = { execute, random, faults, note, listeners: new Set() };
  seedStore(engine, accounts);
  const instances: (Instance | null)[] = Array.from({ length: history.instances }, () => null);
  for (const index of instances.keys()) start(index);
  for (const action of actions) world.after(action.atMs, () => take(action), null);
  world.after(HEALED_MS, () => take({ kind: 'faults', atMs: HEALED_MS, rate: 0 }), null);
  const reader = createReader(engine, accounts, compared === undefined);
  const lastMs = Math.max(HEALED_MS, actions.at(-1)?.atMs ?? 0);
  const isAnswered = () => calls.every((call) => call.answeredMs !== null || call.isLost);
  const isEnded = () =>
    isAnswered() &&
    engine.all(JOURNAL).every(([, row]) => row.counted && (!row.owed || row.entries.length === 0)) &&
    engine.all(COUNTERS).every(([, { settlesAt }]) => settlesAt === null);
  try {
    if (compared === undefined) {
      await world.run(lastMs + 90_000, () => world.nowMs > lastMs + 30_000 && isEnded());
      if (!isEnded()) problems.push('something is owed or unanswered a minute after everything has healed');
      for (const [account, { keys }] of accounts.entries())
        for (const key of keys.keys()) probe(account, key);
      await world.run(world.nowMs + 60_000, isEnded);
    } else await world.run(lastMs + 16_000);
  } catch (error) {
    problems.push(String(error));
  }
  const isCalm =
    faults.count === 0 && actions.every(({ kind }) => !['kill', 'stop', 'restart'].includes(kind));
  for (const call of calls) {
    if (call.isLost) continue;
    const isHeld = actions.some(
      (action) => action.kind === 'hold' && accounts[action.account]!.id === call.account,
    );
    const isRefused = call.problem === 'service-unavailable' && call.spent === 0;
    if (isCalm && isRefused && !isHeld && call.action.request === null && call.action.leavesAfterMs === null)
      problems.push(`call ${call.id} was refused though nothing was wrong`);
    if (call.answeredMs === null) problems.push(`call ${call.id} has no answer`);
    else if (call.answeredMs - call.sentMs > longestAnswerMs(call))
      problems.push(`call ${call.id} was answered after ${call.answeredMs - call.sentMs} ms`);
  }
  if (compared === undefined)
    problems.push(...judge(history, engine, { calls, attempts, followed: reader.read() }));
  return { problems, calls, engine };

  function start(index: number): void {
    const process: Process = { isAlive: true };
    world.after(
      0,
      () => {
        const sql = connect(process, parts) as never;
        void createAuthenticator(sql).then((authenticator) => {
          const log = {
            warn() {},
            error() {},
            bug: (error: unknown) =>
              problems.push(`a fault of the program: ${(error as Error)?.stack ?? error}`),
          } as unknown as Log;
          const credits = createCredits(sql, {
            onLost(owed) {
              const isNearlyCalm = faults.rate < 0.05 && faults.downUntilMs === 0;
              if (isNearlyCalm && actions.every(({ kind }) => kind !== 'hold'))
                problems.push('an orderly stop lost credits though Postgres has answered');
              for (const { activity } of [...owed.values()].flat())
                for (const call of calls) if (activity?.startsWith(call.id)) call.isExcused = true;
            },
          });
          startCallRollup(sql, log, { add() {} } as never);
          const { serve } = createPipeline({
            ...{ authenticator, credits, log, buyUrl: null, entryOf, notes: { answered() {} } },
            rateLimiter: { take: async () => ({ taken: true, limit: 1, remaining: 1, resetS: 1 }) as never },
          });
          instances[index] = Object.assign(process, { serve, close: () => credits.close(LONGEST_STOP_MS) });
        });
      },
      process,
    );
  }

  function die(index: number, backAfterMs: number): void {
    const instance = instances[index];
    if (!instance?.isAlive) return;
    instance.isAlive = false;
    instances[index] = null;
    for (const listener of parts.listeners)
      if (listener.process === instance) parts.listeners.delete(listener);
    for (const call of calls) {
      if (call.process !== instance) continue;
      if (call.answeredMs === null) call.isLost = true;
      // Its void may have been in memory, or its refund for which it has waited 2 s.
      else if (call.spent === 0 || call.answeredMs - call.workedMs >= 2000) call.isExcused = true;
    }
    world.after(backAfterMs, () => start(index), null);
  }

  function take(action: Action): void {
    note(JSON.stringify(action));
    if (action.kind === 'call') send(action);
    else if (action.kind === 'faults') faults.rate = action.rate;
    else if (action.kind === 'kill') die(action.instance, action.backAfterMs);
    else if (action.kind === 'stop') stop(action.instance, action.backAfterMs);
    else if (action.kind === 'restart') {
      faults.downUntilMs = world.nowMs + action.downMs;
      engine.restart();
    } else operate(action);
  }

  function stop(index: number, backAfterMs: number): void {
    const instance = instances[index];
    if (!instance?.isAlive) return;
    // Nothing arrives any more, and what runs is answered first.
    instances[index] = null;
    const closed = (): void => {
      instance.isAlive = false;
      world.after(backAfterMs, () => start(index));
    };
    const end = (): void => {
      const isBusy = calls.some((call) => call.process === instance && call.answeredMs === null);
      if (isBusy) return void world.after(1, end, instance);
      void instance.close().then(() => world.after(0, closed, null));
    };
    world.after(0, end, instance);
  }

  function operate(action: Exclude<Action, { kind: 'call' | 'kill' | 'stop' | 'restart' | 'faults' }>): void {
    const account = accounts[action.account]!;
    const key = 'key' in action ? account.keys[action.key]! : account.keys[0]!;
    const run = (name: string, ...args: unknown[]) =>
      execute(
        name,
        args,
        () => operateInPostgres(sql!, account, action),
        (error) => {
          note(`${name} of an operator ${error?.message ?? 'is done'}`);
          for (const { process, changed } of parts.listeners)
            if (error === null && random.chance(0.8))
              world.after(random.below(10), () => changed(account.id), process);
        },
      );
    const change = (how: (counter: Counter, now: number) => Partial<Counter>) =>
      run('changeAccount', account.id, how);
    if (action.kind === 'grant')
      change((c) => ({ credits: c.credits + action.credits, granted: c.granted + action.credits }));
    else if (action.kind === 'included') change(() => ({ included: action.included }));
    else if (action.kind === 'spending') change(() => ({ spendsPurchased: action.spendsPurchased }));
    else if (action.kind === 'period') change((_, now) => ({ end: now - 1 }));
    else if (action.kind === 'budget') {
      const per = key.budget?.per ?? 'ever';
      run('limitKey', key.id, action.credits === null ? null : { credits: action.credits, per });
    } else if (action.kind === 'expire') run('expireKey', key.id, engine.clock() + 1000);
    else {
      const endMs = world.nowMs + action.forMs;
      engine.run('an operator', 0, holdBalance(account.id, endMs), () => {});
    }
  }

  /** When everything has healed: a call is answered, and the next one gets exactly what is `left`. */
  function probe(account: number, key: number): void {
    const instance = random.below(instances.length);
    const one: CallAction = {
      ...{ kind: 'call', atMs: 0, instance, account, key, credits: 1, uses: 1 },
      ...{ isUnavailable: false, request: null, wantsLeft: true, workMs: 0, leavesAfterMs: null },
    };
    send(one, (first) => {
      const what = `the key ${accounts[account]!.keys[key]!.id} after healing`;
      if (first.problem === 'authentication-failed' || first.problem === 'service-unavailable')
        problems.push(`${what}: ${first.problem}`);
      if (first.left === null) return;
      const credits = first.left + 3;
      const onNext = ({ spent }: Call) => {
        if (spent !== first.left) problems.push(`${what}: ${first.left} were left, and ${spent} were paid`);
      };
      if (accounts.every(({ keys }) => keys.length === 1)) send({ ...one, credits, uses: credits }, onNext);
    });
  }

  function send(action: CallAction, then: (call: Call) => void = () => {}): void {
    const instance = instances[action.instance];
    if (!instance?.isAlive) return;
    const account = accounts[action.account]!;
    const { id: keyId, secret } = account.keys[action.key]!;
    const leaving = new AbortController();
    const call: Call = {
      ...{ id: world.uuid(), action, account: account.id, keyId, process: instance, sentMs: world.nowMs },
      ...{ answeredMs: null, workedMs: 0, isLost: false, isExcused: false, isRepeated: false },
      ...{ spent: 0, used: 0, charged: 0, left: null, bound: null, problem: null },
    };
    calls.push(call);
    if (action.leavesAfterMs !== null) world.after(action.leavesAfterMs, () => leaving.abort(), instance);
    const request = { headers: new Headers({ authorization: `Bearer ${secret}` }), signal: leaving.signal };
    const answer = async (payment: Payment): Promise<Answer> => {
      call.isRepeated = payment.isRepeated;
      call.spent = payment.spent;
      call.left = payment.left;
      call.bound = payment.reason && ('per' in payment.reason ? 'key' : 'account');
      if (action.workMs > 0) await Bun.sleep(action.workMs);
      call.workedMs = world.nowMs;
      if (action.isUnavailable) return unavailable('a store is away');
      call.used = Math.min(payment.spent, action.uses);
      payment.refund(payment.spent - call.used);
      return ok({});
    };
    world.after(
      0,
      () => {
        const { credits, wantsLeft } = action;
        const quoted = { kind: 'lookup', credits, wantsLeft, answer } as const;
        const quote = ({ claim }: CallContext) =>
          action.request === null ? quoted : claim(`${account.id} ${action.request}`).then(() => quoted);
        const trace = { callId: call.id, requestId: call.id, endpoint: 'GET /companies/{nif}' };
        void instance.serve(request, trace, { right: null, charge: 'lookup', quote }).then((answered) => {
          if (!instance.isAlive) return;
          const { headers } = answered.ok ? answered : answered.problem;
          call.charged = Number(headers?.[CREDITS_HEADER] ?? 0);
          call.answeredMs = world.nowMs;
          if (!answered.ok) call.problem = answered.problem.kind;
          then(call);
          note(
            `call ${call.id} is answered ${answered.ok ? 'ok' : answered.problem.kind} for ${call.charged}`,
          );
        });
      },
      instance,
    );
  }
}

/** Does in Postgres what an operator does in a plain history. */
function operateInPostgres(sql: Sql, { id, keys }: Account, action: Action): Promise<unknown> {
  if (action.kind === 'grant') return grantCredits(sql, id, { credits: action.credits }, 'test');
  if (action.kind === 'included') return changeLimits(sql, id, { includedCredits: action.included }, 'test');
  if (action.kind === 'spending')
    return changeLimits(sql, id, { spendPurchased: action.spendsPurchased }, 'test');
  if (action.kind === 'period')
    return Promise.resolve(sql`UPDATE counters SET period_end = '2026-01-01' WHERE id = ${id}`);
  if (action.kind === 'budget') {
    const { id, budget } = keys[action.key]!;
    return limitKey(sql, id, { budget: { ...budget!, credits: action.credits! } }, 'test');
  }
  throw new Error(`no plain history has an action ${action.kind}`);
}

/** A transaction that keeps the lock of an account until an instant. */
const holdBalance = (id: string, endMs: number) =>
  function* (tx: Transaction) {
    yield* tx.lock(COUNTERS, id);
    while (world.nowMs < endMs) yield 'pause' as const;
  };

function seedStore(engine: Engine, accounts: Account[]): void {
  const now = engine.clock();
  engine.put(NUMBERS, '', { last: 0 });
  const none = { spendsPurchased: true, used: 0, usedPurchased: 0, purchasedBefore: 0, settlesAt: null };
  for (const { id, included, credits, keys } of accounts) {
    const account = { ...none, accountId: id, openedAt: now };
    engine.put(COUNTERS, id, {
      ...{ ...account, per: null, included, credits, granted: credits },
      ...{ start: windowAt('month', now), end: nextPeriodEnd(now) },
    });
    for (const { id: keyId, secret, budget } of keys) {
      const per = budget?.per ?? 'ever';
      engine.put(KEYS, keyId, { accountId: id, hash: hashOf(secret), expiresAt: null });
      engine.put(COUNTERS, keyId, {
        ...{ ...account, per, included: budget?.credits ?? null, credits: 0, granted: 0 },
        ...{ start: FOREVER, end: endOf(per, FOREVER) },
      });
    }
  }
}

/** What holds at every commit. */
function check(row: string, value: object, problems: string[]): void {
  if (!row.startsWith('counters')) return;
  const { credits, used, usedPurchased, purchasedBefore, granted } = value as Counter;
  if (credits < 0 || used < 0 || usedPurchased < 0 || purchasedBefore < 0)
    problems.push(`${row} is below 0: ${JSON.stringify(value)}`);
  if (credits + usedPurchased + purchasedBefore !== granted)
    problems.push(`${row} lost purchased credits: ${JSON.stringify(value)}`);
}
