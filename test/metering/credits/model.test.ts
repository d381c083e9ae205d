/** Steps on two accounts, also at the same moment, end as a plain model of the ledger says. */
import { afterAll, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { changeLimits, changePlan } from '../../../src/metering/accounts/changes.ts';
import { grantCredits } from '../../../src/metering/accounts/grant.ts';
import type { Call } from '../../../src/metering/credits/call.ts';
import { chargeBatch } from '../../../src/metering/credits/charge-batch.ts';
import { refundCredits, refundOwed } from '../../../src/metering/credits/refund.ts';
import { rollUpCalls } from '../../../src/metering/credits/rollup.ts';
import { voidAttempt } from '../../../src/metering/credits/void.ts';
import { limitKey } from '../../../src/metering/keys/limit-key.ts';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import { DAY } from '../../../src/platform/units.ts';
import { createTestDatabase } from '../../support/database.ts';
import { createCaller } from '../../support/service.ts';
import { differingTotals } from './ledger.ts';
import {
  type Ledger,
  newAccount,
  type Outcome,
  purchasedFirst,
  type Step,
  take,
  usedBudget,
  type Wanted,
} from './model.ts';

const database = await createTestDatabase('model');
const sql = database.sql;
/** As many as steps of one round, so that none waits for a connection. */
const pool = connectPostgres(database.url, { max: 6, pointQueries: true });
/** Unbounded, as the steps are. */
const charge = (calls: Call[], attempt: string) => chargeBatch(pool, calls, attempt, async (work) => work);
afterAll(async () => {
  await pool.end({ timeout: 5 });
  await database.drop();
});

type Caller = { accountId: string; keyId: string };

/** A plan that begins in the past opens its period now. */
const PAST = new Date(Date.now() - 5 * DAY);

/** A step as fast-check draws it. The batch of a void or a refund is picked when the step runs. */
const drawnStep = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('charge'),
      wanted: fc.tuple(fc.tuple(fc.nat(4), fc.nat(4)), fc.tuple(fc.nat(4), fc.nat(4))),
      isStale: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('void'), batch: fc.nat(20) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('refund'),
      batch: fc.nat(20),
      account: fc.nat(1),
      calls: fc.nat(4),
      isOfKey: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('plan'),
      account: fc.nat(1),
      plan: fc.constantFrom('free', 'plus'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('included'), account: fc.nat(1), included: fc.nat(12) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('spending'),
      account: fc.nat(1),
      spendsPurchased: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('grant'),
      account: fc.nat(1),
      credits: fc.integer({ min: -9, max: 9 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('end'), account: fc.nat(1) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('budget'),
      account: fc.nat(1),
      budget: fc.option(fc.nat(9), { freq: 5 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('month') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('roll up') }) },
);
type Drawn = {
  kind: Step['kind'];
  batch?: number;
  wanted?: Wanted[];
  isStale?: boolean;
  account?: number;
  calls?: number;
  isOfKey?: boolean;
};

/** The steps of a round. Each concerns a batch of an earlier round, and no batch twice. */
function stepsOf(drawn: Drawn[], { batches, refunded }: Ledger): Step[] {
  const attempts = [...batches.keys()];
  const month = drawn.find(({ kind }) => kind === 'month');
  if (month !== undefined) return [{ kind: 'month' }];
  return drawn.flatMap((step): Step[] => {
    if (step.kind === 'charge')
      return [{ kind: 'charge', attempt: randomUUID(), wanted: step.wanted!, isStale: step.isStale! }];
    if (step.batch === undefined) return [step as unknown as Step];
    const [attempt] = attempts.splice(step.batch % Math.max(attempts.length, 1), 1);
    if (attempt === undefined) return [];
    if (step.kind === 'void') return refunded.has(attempt) ? [] : [{ kind: 'void', attempt }];
    const part = batches.get(attempt)![step.account!] ?? { calls: 0, ofKey: 0 };
    const isOfKey = step.isOfKey!;
    const calls = Math.min(step.calls!, isOfKey ? part.ofKey : part.calls - part.ofKey);
    return calls === 0 ? [] : [{ kind: 'refund', attempt, account: step.account!, calls, isOfKey }];
  });
}

/** Does a step in Postgres. */
async function run(step: Step, callers: Caller[], { batches }: Ledger): Promise<Outcome> {
  if (step.kind === 'charge') {
    const all = callers.flatMap((caller, index) =>
      step.wanted[index]!.map((credits, isOfKey) => callOf(caller, credits, isOfKey === 1, !step.isStale)),
    );
    const calls = all.filter(({ credits }) => credits > 0);
    const [charged] = calls.length === 0 ? [] : await charge(calls, step.attempt);
    const spent = all.map((call) =>
      call.credits === 0 ? 0 : (charged!.spent?.[calls.indexOf(call)] ?? call.credits),
    );
    return callers.map(({ accountId }, index) => ({
      calls: spent[2 * index]! + spent[2 * index + 1]!,
      ofKey: spent[2 * index + 1]!,
      purchased: charged?.purchased?.[accountId] ?? 0,
    }));
  }
  if (step.kind === 'void') {
    await voidAttempt(pool, step.attempt);
    await refundOwed(pool);
  } else if (step.kind === 'refund') {
    const { attempt, account, calls, isOfKey } = step;
    if (calls === 0) return null;
    const purchased = purchasedFirst(batches.get(attempt)![account]!, calls);
    const call = callOf(callers[account]!, calls, isOfKey);
    await refundCredits(pool, [{ ...call, id: randomUUID(), attempt, purchased }]);
    await refundOwed(pool);
  } else if (step.kind === 'roll up') await rollUpCalls(pool);
  else if (step.kind === 'month') await passMonth(callers);
  else await change(step, callers[step.account]!);
  return null;
}

const callOf = ({ accountId, keyId }: Caller, credits: number, isOfKey: boolean, hasBudget = false) =>
  ({
    accountId,
    keyId: isOfKey ? keyId : '',
    kind: 'lookup',
    credits,
    hasBudget,
    activity: `${randomUUID()}\tGET /companies/{nif}`,
  }) as const;

/** Moves all that has happened to the month before. */
async function passMonth(callers: Caller[]): Promise<void> {
  const [ids, keys] = [callers.map(({ accountId }) => accountId), callers.map(({ keyId }) => keyId)];
  await sql`UPDATE call_journal SET at = at - interval '1 month' WHERE account_ids && ${ids}`;
  await sql`UPDATE counters SET period_start = period_start - interval '1 month' WHERE id = ANY (${keys})`;
  // In two steps, because a day may have the place of another one.
  for (const months of [-1200, 1199])
    await sql`
      UPDATE daily_counts SET day = day + ${months} * interval '1 month' WHERE account_id = ANY (${ids})`;
}

async function change(
  step: Extract<Step, { account: number }>,
  { accountId: id, keyId }: Caller,
): Promise<void> {
  if (step.kind === 'budget') {
    const budget = step.budget === null ? null : ({ credits: step.budget, per: 'month' } as const);
    await limitKey(pool, keyId, { budget }, 'test');
  } else if (step.kind === 'plan')
    await changePlan(pool, id, step.plan, step.plan === 'plus' ? { periodStart: PAST } : {}, 'test');
  else if (step.kind === 'included') await changeLimits(pool, id, { includedCredits: step.included }, 'test');
  else if (step.kind === 'spending')
    await changeLimits(pool, id, { spendPurchased: step.spendsPurchased }, 'test');
  else if (step.kind === 'grant')
    await grantCredits(pool, id, { credits: step.credits }, 'test').catch((error) => {
      if (!/^only \d+ purchased credits are unspent$/.test(error.message)) throw error;
    });
  else await pool`UPDATE counters SET period_end = '2026-01-01' WHERE id = ${id}`;
}

async function stored(callers: Caller[]) {
  const rows = await sql`
    SELECT account_id AS id, b.used, b.used_purchased AS "usedPurchased", purchased_before AS "purchasedBefore", credits,
      coalesce((SELECT sum(calls) FROM calls_by_day d WHERE d.account_id = b.id), 0)::bigint AS calls,
      (SELECT (counter_at(k, now())).used FROM counters k WHERE k.id = key_id AND k.included_credits IS NOT NULL) AS budget
    FROM unnest(${callers.map(({ accountId }) => accountId)}::text[], ${callers.map(({ keyId }) => keyId)}::text[])
      WITH ORDINALITY AS caller (account_id, key_id, position) JOIN counters b ON b.id = account_id
    ORDER BY position`;
  return rows.map((row) => ({ ...row, id: undefined }));
}

const modelled = ({ accounts, month }: Ledger) =>
  accounts.map((account) => {
    const { used, usedPurchased, purchasedBefore, credits, calls } = account;
    return {
      ...{ used, usedPurchased, purchasedBefore, credits, calls },
      budget: usedBudget(account, month),
      id: undefined,
    };
  });

function* orders<T>(items: T[]): Generator<T[]> {
  if (items.length === 0) yield [];
  for (const [index, item] of items.entries()) {
    for (const rest of orders(items.toSpliced(index, 1))) yield [item, ...rest];
  }
}

/** The first account of one ledger, and the second of another. */
const merge = (first: Ledger, second: Ledger): Ledger => ({
  month: first.month,
  accounts: [first.accounts[0]!, second.accounts[1]!],
  batches: new Map(
    [...first.batches].map(([attempt, [part]]) => [
      attempt,
      [part ?? null, second.batches.get(attempt)![1] ?? null],
    ]),
  ),
  refunded: first.refunded,
});

/**
 * Does the steps of a round at once. Each account has its own order of them: a charge that waits for one account has looked at
 * the other one before.
 * @param before every state that the ledger may be in. Two orders can look the same until later, for example when a period ends
 *   beside two equal charges
 * @returns every state afterwards that an order of the steps for each account explains
 */
async function round(steps: Step[], callers: Caller[], before: Ledger[]): Promise<Ledger[]> {
  const seen = await Promise.all(
    steps.map(async (step) => ({ step, outcome: await run(step, callers, before[0]!) })),
  );
  const accounts = await stored(callers);
  const possible = before.flatMap((start) =>
    [...orders(seen)].map((order) => {
      const ledger = structuredClone(start);
      const outcomes = order.map(({ step, outcome }) => ({ outcome: take(ledger, step), seen: outcome }));
      return { ledger, outcomes };
    }),
  );
  const [first, second] = callers.map((_, account) =>
    possible.filter(
      ({ ledger, outcomes }) =>
        outcomes.every(({ outcome, seen }) => Bun.deepEquals(outcome?.[account], seen?.[account])) &&
        Bun.deepEquals(modelled(ledger)[account], accounts[account]),
    ),
  );
  const after: Ledger[] = [];
  for (const one of first!) {
    for (const other of second!) {
      const ledger = merge(one.ledger, other.ledger);
      if (!after.some((known) => Bun.deepEquals(known, ledger))) after.push(ledger);
    }
  }
  if (after.length > 0) return after;
  const expected = possible.map(({ ledger, outcomes }) => ({ outcomes, accounts: modelled(ledger) }));
  throw new Error(
    `${JSON.stringify(steps)} ended as ${JSON.stringify(accounts)}, which none explains of ${JSON.stringify(expected)}`,
  );
}

test('charges, voids, refunds, budgets of keys, plan changes, limits, grants, take-backs and period ends, up to three at once, end as the model says', async () => {
  const rounds = fc.array(fc.array(drawnStep, { minLength: 1, maxLength: 3 }), {
    minLength: 1,
    maxLength: 12,
  });
  const property = fc.asyncProperty(rounds, async (drawn) => {
    const callers = await Promise.all([
      createCaller(sql, { included: 24, credits: 12 }),
      createCaller(sql, { included: 0, credits: 6 }),
    ]);
    const accounts = [newAccount(24, 12), newAccount(0, 6)];
    let ledgers: Ledger[] = [{ month: 0, accounts, batches: new Map(), refunded: new Set() }];
    for (const steps of drawn)
      ledgers = await round(stepsOf(steps as Drawn[], ledgers[0]!), callers, ledgers);
    const ledger = ledgers[0]!;
    for (const { credits, usedPurchased, purchasedBefore, granted } of ledger.accounts) {
      expect(credits + usedPurchased + purchasedBefore).toBe(granted);
    }
    // When everything has come back, each account has what it was granted.
    for (const [attempt, parts] of ledger.batches) {
      const refunds = parts.flatMap((part, account) => [
        { attempt, account, calls: (part?.calls ?? 0) - (part?.ofKey ?? 0), isOfKey: false },
        { attempt, account, calls: part?.ofKey ?? 0, isOfKey: true },
      ]);
      if (!ledger.refunded.has(attempt)) await voidAttempt(sql, attempt);
      else
        for (const refund of refunds.filter(({ calls }) => calls > 0)) {
          const step = { kind: 'refund', ...refund } as const;
          await run(step, callers, ledger);
          take(ledger, step);
        }
    }
    await refundOwed(sql);
    expect(await differingTotals(sql)).toEqual([]);
    expect(await stored(callers)).toMatchObject(
      ledger.accounts.map(({ granted, budget }) => ({
        budget: budget && 0,
        usedPurchased: 0,
        purchasedBefore: 0,
        credits: granted,
        calls: 0,
      })),
    );
  });
  await fc.assert(property, { numRuns: 60, interruptAfterTimeLimit: 90_000 });
});
