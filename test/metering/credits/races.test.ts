/**
 * Of calls at once, through two instances, exactly as many are paid as there are credits for, whatever pays them, also beside a locked row,
 * in a busy process, and beside calls that lock the same rows.
 */
import { expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { changeLimits } from '../../../src/metering/accounts/changes.ts';
import { type Credits, createCredits } from '../../../src/metering/credits/charge.ts';
import { chargeBatch, chargeCalls } from '../../../src/metering/credits/charge-batch.ts';
import { limitKey } from '../../../src/metering/keys/limit-key.ts';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import { cancelWaiting, lockRow } from '../../support/locks.ts';
import { createCaller } from '../../support/service.ts';
import { inOneTurn } from '../../support/stopped-clock.ts';
import { eventually, until } from '../../support/until.ts';
import { chargeKeyed, chargeMany, chargeOne, ledgerOf, startLedgers } from './ledger.ts';

const { sql, url, pools, one, other, impatient } = await startLedgers('races');
const instances = [one, other];

const setSpending = (id: string, spendPurchased: boolean) =>
  changeLimits(sql, id, { spendPurchased }, 'test');
/** The account's window has ended, with credits used in it. */
const endWindows = (ids: string[]) =>
  sql`UPDATE counters SET used = 5, period_end = now() WHERE id = ANY (${ids})`;

interface Race {
  included: number;
  credits?: number;
  /** Credits that the key can spend. */
  budget?: number;
  prepare?: (accountId: string) => PromiseLike<unknown>;
  /** Credits of a call. */
  each?: number;
  /** Whether all calls are sendings of one request. */
  isKeyed?: true;
  paid: number;
  /** Purchased credits that stay. */
  left?: number;
}

test.each<[string, Race]>([
  ['calls on included credits', { included: 7, paid: 7 }],
  ['calls on included credits, and then on purchased ones', { included: 3, credits: 5, paid: 8 }],
  [
    'calls of an account that keeps its purchased credits',
    { included: 3, credits: 5, prepare: (id) => setSpending(id, false), paid: 3, left: 5 },
  ],
  ['lists, of which one gets a part', { included: 20, credits: 10, each: 4, paid: 30 }],
  ['calls of a key with a budget', { included: 100, budget: 7, paid: 7 }],
  ['sendings of one request', { included: 7, credits: 10, each: 10, isKeyed: true, paid: 10, left: 7 }],
  [
    'calls after the end of a window',
    { included: 10, credits: 5, prepare: (id) => endWindows([id]), paid: 15 },
  ],
])('%s', async (_, { included, credits = 0, budget, prepare, each = 1, isKeyed, paid, left = 0 }) => {
  const { accountId, keyId } = await createCaller(sql, { included, credits });
  if (budget !== undefined) await limitKey(sql, keyId, { budget: { credits: budget, per: 'ever' } }, 'test');
  await prepare?.(accountId);
  const call = { accountId, keyId, kind: 'lookup', credits: each, hasBudget: budget !== undefined } as const;
  const identity = randomUUID();
  const send = (instance: Credits) =>
    isKeyed ? chargeKeyed(instance, call, identity) : instance.charge({ ...call });
  const senders = Array.from({ length: isKeyed ? 12 : 40 }, (_, index) => instances[index % 2]!);
  const charges = await inOneTurn(() => Promise.all(senders.map(send)));
  const spent = charges.reduce((sum, charge) => sum + (charge.isRepeated ? 0 : charge.spent), 0);
  expect(spent).toBe(paid);
  expect(await ledgerOf(sql, accountId)).toEqual({ used: paid, credits: left, calls: paid });
  for (const { spent, reason } of charges) {
    if (spent === each) expect(reason).toBeNull();
    else if (budget === undefined) expect(reason).toMatchObject({ limit: included });
    else expect(reason).toEqual({ credits: budget, per: 'ever', resetAt: null, retryAfterS: null });
  }
  const [row] = await sql`
    SELECT sum((purchased ->> ${accountId})::bigint) AS purchased FROM call_journal WHERE ${accountId} = ANY (account_ids)`;
  expect(Number(row!.purchased)).toBe(credits - left);
});

test.each([16, 64])('calls of %d accounts whose windows end at once', async (count) => {
  const included = (index: number) => index % 4;
  const callers = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      createCaller(sql, { included: included(index), credits: index % 3 }),
    ),
  );
  const ids = callers.map(({ accountId }) => accountId);
  await endWindows(ids);
  const charged = await Promise.all(
    instances.flatMap((credits) =>
      Array.from({ length: 4 }, () => ids.map((id) => chargeOne(credits, id))).flat(),
    ),
  );
  const paid = (index: number) => charged.filter((each, at) => at % count === index && each.charged).length;
  for (const [index, id] of ids.entries()) {
    const used = included(index) + (index % 3);
    expect(paid(index)).toBe(used);
    expect(await ledgerOf(sql, id)).toEqual({ used, credits: 0, calls: used });
  }
});

test('nothing purchased is spent once `--spend-purchased no` is committed, under load', async () => {
  const { accountId } = await createCaller(sql, { included: 0, credits: 100_000 });
  let isOver = false;
  let charged = 0;
  const clients = instances.flatMap((credits) =>
    Array.from({ length: 10 }, async () => {
      while (!isOver) if ((await chargeOne(credits, accountId)).charged) charged += 1;
    }),
  );
  const balance = async () => (await ledgerOf(sql, accountId)).credits;
  for (let round = 0; round < 3; round += 1) {
    const before = await balance();
    await until('spending', async () => (await balance()) < before);
    await setSpending(accountId, false);
    const stopped = await balance();
    for (const credits of instances) await chargeMany(credits, accountId, 20);
    expect(await balance()).toBe(stopped);
    await setSpending(accountId, true);
  }
  isOver = true;
  await Promise.all(clients);
  // The 20s were refused: between the two changes no call was charged.
  const expected = { used: charged, credits: 100_000 - charged, calls: charged };
  expect(await ledgerOf(sql, accountId)).toEqual(expected);
});

const credits = createCredits(impatient);
/** Whether the call fails. */
const fails = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => false,
    () => true,
  );

test('a row that another transaction has locked fails further calls without a statement, so without a wait', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  let statements = 0;
  const counted = new Proxy(impatient, {
    get(target, name) {
      if (name === 'unsafe') statements += 1;
      return Reflect.get(target, name);
    },
  });
  const credits = createCredits(counted);
  const lock = await lockRow(sql, accountId);
  for (let call = 0; call < 20; call += 1) expect(await fails(chargeOne(credits, accountId))).toBe(true);
  expect(statements).toBe(1);
  await lock.release();
  await eventually(() => fails(chargeOne(credits, accountId)), false);
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 1, credits: 0, calls: 1 });
});

test('a process that was busy while its answer lay there charges the next calls', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  const single = connectPostgres(url, { max: 1 });
  try {
    const credits = createCredits(single);
    await chargeOne(credits, accountId); // from here on the statement is prepared, and sent in one piece
    const delayed = fails(chargeOne(credits, accountId));
    for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    Bun.sleepSync(2500);
    await delayed;
    expect(await fails(chargeOne(credits, accountId))).toBe(false);
    expect(await fails(chargeOne(credits, accountId))).toBe(false);
  } finally {
    await single.end({ timeout: 1 });
  }
});

test.each([
  ['runs out', credits, async () => {}],
  ['ends as a "user request"', one, () => cancelWaiting(sql)],
])(
  'an account whose row is locked holds up nobody else of its batch when the wait %s, and is not charged',
  async (_, credits, endWait) => {
    const locked = await createCaller(sql, { included: 100 });
    const others = await Promise.all(Array.from({ length: 20 }, () => createCaller(sql, { included: 100 })));
    const lock = await lockRow(sql, locked.accountId);
    try {
      const refused = fails(chargeOne(credits, locked.accountId));
      const charging = Promise.all(others.map(({ accountId }) => chargeOne(credits, accountId)));
      await endWait();
      const charged = await charging;
      expect(charged.map(({ charged }) => charged)).toEqual(others.map(() => true));
      expect(await refused).toBe(true);
    } finally {
      await lock.release();
    }
    expect(await ledgerOf(sql, locked.accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
    for (const { accountId } of others) {
      expect(await ledgerOf(sql, accountId)).toEqual({ used: 1, credits: 0, calls: 1 });
    }
  },
);

test.each([2, 400])('of %d accounts, a few asked for in opposite orders are locked in one', async (count) => {
  const callers = await Promise.all(
    Array.from({ length: Math.min(count, 40) }, () => createCaller(sql, { included: 1000 })),
  );
  const few = callers.map(({ accountId }) => accountId);
  await sql`INSERT INTO counters (id) SELECT 'acc_other_' || n FROM generate_series(${few.length + 1}::int, ${count}) AS n`;
  // Statistics let the planner choose another plan for a small table than for a large one. Neither may change the order of locks.
  await sql`ANALYZE counters`;
  const call = { keyId: '', kind: 'search', credits: 1 } as const;
  const both = [few, few.toReversed()].map((order, instance) => async () => {
    const pool = pools[instance]!;
    for (let round = 0; round < 100; round += 1) {
      const calls = order.map((accountId) => ({ ...call, accountId }));
      // A statement of either kind meets both.
      const [charged] =
        (round + instance) % 3 === 0
          ? await chargeCalls(pool, calls, randomUUID())
          : await chargeBatch(pool, calls, randomUUID(), async (work) => work);
      expect(charged).toMatchObject({ purchased: null });
      expect(charged!.spent ?? order.map(() => 1)).toEqual(order.map(() => 1));
    }
  });
  // If two statements deadlock, Postgres fails one of them after a second, and this throws.
  await Promise.all(both.map((spend) => spend()));
});
