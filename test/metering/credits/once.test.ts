/** Requests that are charged once, however often they are sent (docs/api.md: Idempotency-Key). */
import { afterAll, describe, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { changePlan } from '../../../src/metering/accounts/changes.ts';
import { createLockedAccounts } from '../../../src/metering/accounts/locked.ts';
import type { Call } from '../../../src/metering/credits/call.ts';
import { createCredits } from '../../../src/metering/credits/charge.ts';
import { chargeOnce, refundSending } from '../../../src/metering/credits/once.ts';
import { refundOwed } from '../../../src/metering/credits/refund.ts';
import { purgeJournal, rollUpCalls } from '../../../src/metering/credits/rollup.ts';
import { connectPostgres, type Sql } from '../../../src/platform/postgres/connect.ts';
import { withTimeout } from '../../../src/platform/runtime/timeout.ts';
import { createTestDatabase } from '../../support/database.ts';
import { lockRow, waitingForLock } from '../../support/locks.ts';
import { startProxy } from '../../support/proxy.ts';
import { createCaller } from '../../support/service.ts';
import { eventually } from '../../support/until.ts';
import { ledgerOf } from './ledger.ts';

const database = await createTestDatabase('once');
const sql = database.sql;
/** Two instances. */
const pools = [1, 2].map(() => connectPostgres(database.url, { max: 4, applicationName: 'test' }));
const ledgers = pools.map((pool) => createCredits(pool));
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  await database.drop();
});

const call = (accountId: string, identity: string, credits: number) => ({
  ...{ accountId, identity, credits, keyId: 'key', kind: 'lookup' as const },
});

/** One sending, which refunds so many of its credits. Ends when they have arrived. @returns the credits that it keeps */
async function sendAndReturn(pool: Sql, request: Call, back: number): Promise<number> {
  const ledger = createCredits(pool);
  const { spent, quota, refund } = await ledger.charge(request);
  expect(quota).toBeNull();
  await refund(Math.min(back, spent));
  await ledger.close(5000);
  return Math.max(spent - back, 0);
}

test('many sendings at once, through two instances, are charged once; another request is charged, too', async () => {
  const { accountId } = await createCaller(sql, { included: 7, credits: 10 });
  const identity = randomUUID();
  const send = (_: unknown, i: number) => ledgers[i % 2]!.charge(call(accountId, identity, 10));
  const charges = await Promise.all(Array.from({ length: 40 }, send));
  expect(new Set(charges.map(({ spent, quota }) => `${spent} ${quota}`))).toEqual(new Set(['10 null']));
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 10, credits: 7, calls: 10 });
  await ledgers[0]!.charge(call(accountId, randomUUID(), 2));
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 12, credits: 5, calls: 12 });
});

test('what is charged in the end is what the sending kept that kept the most', async () => {
  const needed = 6;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ back: fc.nat({ max: needed }), waits: fc.boolean() }), {
        minLength: 1,
        maxLength: 8,
      }),
      fc.nat({ max: 8 }),
      async (sendings, included) => {
        const { accountId } = await createCaller(sql, { included, credits: 100 });
        const identity = randomUUID();
        const running: Promise<number>[] = [];
        for (const [i, { back, waits }] of sendings.entries()) {
          const sending = sendAndReturn(pools[i % 2]!, call(accountId, identity, needed), back);
          running.push(sending);
          if (waits) await sending.then(() => refundOwed(sql));
          if (i % 3 === 0) await rollUpCalls(sql);
        }
        const used = Math.max(...(await Promise.all(running)));
        await refundOwed(sql);
        const credits = 100 - Math.max(used - included, 0);
        expect(await ledgerOf(sql, accountId)).toEqual({ used, credits, calls: used });
      },
    ),
    { numRuns: 20 },
  );
});

test('a request whose credits sufficed for a part gets that part again, and never more', async () => {
  const { accountId } = await createCaller(sql, { included: 3 });
  const request = call(accountId, randomUUID(), 10);
  const first = await ledgers[0]!.charge(request);
  expect(first).toMatchObject({ spent: 3, quota: { limit: 3 }, isRepeated: false });
  expect(await ledgers[1]!.charge(request)).toMatchObject({ ...first, isRepeated: true, refund: {} });
  await sql`UPDATE balances SET credits = 20 WHERE account_id = ${accountId}`;
  for (const ledger of ledgers) {
    expect(await ledger.charge({ ...request, wantsLeft: true })).toMatchObject({
      ...{ spent: 3, quota: { limit: 3 }, left: 20, isRepeated: true },
    });
  }
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 3, credits: 20, calls: 3 });
});

test('a request that needs more when it is sent again gets what was paid; one that needs less, that', async () => {
  const { accountId } = await createCaller(sql, { included: 100 });
  const request = call(accountId, randomUUID(), 5);
  await ledgers[0]!.charge(request);
  for (const [credits, spent] of [
    [8, 5],
    [2, 2],
  ]) {
    const repeated = await ledgers[1]!.charge({ ...request, credits: credits! });
    expect(repeated).toMatchObject({ spent, quota: null, isRepeated: true });
  }
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 5, credits: 0, calls: 5 });
});

test('credits that neither the first sending kept nor a shorter one needs come back', async () => {
  const { accountId } = await createCaller(sql, { included: 100 });
  const request = call(accountId, randomUUID(), 10);
  const ledger = createCredits(pools[0]!);
  const first = await ledger.charge(request);
  const shorter = await ledger.charge({ ...request, credits: 4 });
  await first.refund(3);
  await shorter.refund(0);
  await ledger.close(5000);
  await refundOwed(sql);
  expect((await ledgerOf(sql, accountId)).used).toBe(7);
});

test('a request that an account without credits sends is charged when it has some', async () => {
  const { accountId } = await createCaller(sql, { included: 0 });
  const request = call(accountId, randomUUID(), 5);
  expect(await ledgers[0]!.charge(request)).toMatchObject({ spent: 0, quota: { limit: 0 } });
  await sql`UPDATE balances SET credits = 7 WHERE account_id = ${accountId}`;
  expect(await ledgers[1]!.charge(request)).toMatchObject({ spent: 5, quota: null, isRepeated: false });
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 5, credits: 2, calls: 5 });
});

test('two sendings at once for the last credits are both paid by one charge, and neither is refused', async () => {
  for (const needed of [5, 9]) {
    const { accountId } = await createCaller(sql, { included: 5 });
    const request = { ...call(accountId, randomUUID(), needed), wantsLeft: true };
    // Both have looked for an earlier charge, and wait for the balance.
    const lock = await lockRow(sql, accountId);
    const sendings = ledgers.map((ledger) => ledger.charge(request));
    await waitingForLock(sql, 2);
    await lock.release();
    const charges = await Promise.all(sendings);
    const quota = needed === 5 ? null : { limit: 5 };
    for (const charge of charges) expect(charge).toMatchObject({ spent: 5, quota, left: 0 });
    expect(charges.map(({ isRepeated }) => isRepeated).sort()).toEqual([false, true]);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 5, credits: 0, calls: 5 });
  }
});

test('credits come back though fifty sendings have used them at once', async () => {
  const { accountId } = await createCaller(sql, { included: 100 });
  const request = call(accountId, randomUUID(), 5);
  const ledger = createCredits(pools[0]!);
  const charges = await Promise.all(Array.from({ length: 50 }, () => ledger.charge(request)));
  for (const { refund } of charges) refund(5);
  await ledger.close(5000);
  await refundOwed(sql);
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
});

test('included credits that come back after their period has ended bring no purchased ones', async () => {
  const { accountId } = await createCaller(sql, { included: 5, credits: 10 });
  const ledger = createCredits(pools[0]!);
  const { refund } = await ledger.charge(call(accountId, randomUUID(), 5));
  await ledger.charge({ ...call(accountId, randomUUID(), 4), identity: undefined });
  await changePlan(sql, accountId, 'plus', {}, 'test');
  await refund(5);
  await ledger.close(5000);
  await refundOwed(sql);
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 6, calls: 4 });
});

test('after ten minutes it is a new request, whether its old charge is still in the journal or not', async () => {
  const { accountId } = await createCaller(sql, { included: 100 });
  const request = call(accountId, randomUUID(), 5);
  const age = (time: string) =>
    sql`UPDATE call_journal SET spent_at = now() - ${time}::interval WHERE account_ids[1] = ${accountId}`;
  await ledgers[0]!.charge(request);
  await rollUpCalls(sql);
  await age('9 minutes 50 seconds');
  await purgeJournal(sql);
  await ledgers[0]!.charge(request);
  expect((await ledgerOf(sql, accountId)).used).toBe(5);
  await age('10 minutes 1 second');
  await ledgers[0]!.charge(request);
  expect((await ledgerOf(sql, accountId)).used).toBe(10);
  await rollUpCalls(sql);
  await age('10 minutes 1 second');
  await purgeJournal(sql);
  await ledgers[0]!.charge(request);
  expect((await ledgerOf(sql, accountId)).used).toBe(15);
});

describe('a refund of a sending that ends after ten minutes', () => {
  const age = async (accountId: string) => {
    await sql`UPDATE call_journal SET spent_at = now() - interval '10 minutes 1 second' WHERE account_ids[1] = ${accountId}`;
    await sql`UPDATE balances SET period_opened_at = now() - interval '1 hour' WHERE account_id = ${accountId}`;
  };

  test.each([
    ['nothing, when another sending has used its charge', 0, 10],
    ['its own charge, when all its sendings are refunded', 5, 5],
  ])('refunds %s, and never the next charge of the request', async (_, refundedByFirst, used) => {
    const { accountId } = await createCaller(sql, { included: 100 });
    const request = call(accountId, randomUUID(), 5);
    const ledger = createCredits(pools[0]!);
    const first = await ledger.charge(request);
    const late = await ledger.charge(request);
    await first.refund(refundedByFirst);
    await age(accountId);
    await purgeJournal(sql);
    const next = await ledgers[1]!.charge(request);
    expect(next).toMatchObject({ spent: 5, isRepeated: false });
    await late.refund(5);
    await ledger.close(5000);
    await refundOwed(sql);
    expect(await ledgerOf(sql, accountId)).toEqual({ used, credits: 0, calls: used });
    // The next charge is still found by the request.
    expect(await ledgers[1]!.charge(request)).toMatchObject({ spent: 5, isRepeated: true });
  });
});

test('an error that Postgres answers costs that sending nothing, and refuses no other call', async () => {
  const pool = connectPostgres(database.url, { max: 2, applicationName: 'test', lockTimeoutMs: 50 });
  const events: string[] = [];
  const ledger = createCredits(pool, { onEvent: (event) => void events.push(event) });
  const { accountId } = await createCaller(sql, { included: 100 });
  const request = call(accountId, randomUUID(), 5);
  const earlier = await ledgers[0]!.charge(request);
  await sql.begin(async (locking) => {
    await locking`SELECT FROM call_journal WHERE account_ids[1] = ${accountId} FOR UPDATE`;
    await expect(ledger.charge(request)).rejects.toThrow('lock timeout');
    const unkeyed = { ...request, identity: undefined, credits: 1 };
    expect(await ledger.charge(unkeyed)).toMatchObject({ spent: 1 });
  });
  expect(events).toEqual(['failed', 'charged']);
  // The sending that failed keeps none of the credits that the earlier one refunds.
  await earlier.refund(5);
  const refunded = { used: 1, credits: 0, calls: 1 };
  await eventually(async () => refundOwed(sql).then(() => ledgerOf(sql, accountId)), refunded);
  await ledger.close(5000);
  await pool.end({ timeout: 1 });
});

describe('a charge whose outcome is unknown', () => {
  /** Loses the answer to a charge that has arrived. Until `up` its instance can't refund it. */
  async function chargeUnanswered() {
    const proxy = await startProxy(database.url);
    const pool = connectPostgres(proxy.url(database.url), { max: 2, applicationName: 'test' });
    const ledger = createCredits(pool);
    const { accountId } = await createCaller(sql, { included: 100 });
    const request = call(accountId, randomUUID(), 5);
    const lock = await lockRow(sql, accountId);
    const charge = ledger.charge(request);
    await waitingForLock(sql, 1);
    proxy.hang();
    await lock.release();
    await eventually(async () => (await ledgerOf(sql, accountId)).used, 5);
    const end = async () => {
      await ledger.close(5000);
      await pool.end({ timeout: 1 });
      await proxy.close();
    };
    return { accountId, request, charge, up: () => proxy.up(), end };
  }

  test('costs nothing; the next sending is charged', async () => {
    const { accountId, request, charge, up, end } = await chargeUnanswered();
    await expect(charge).rejects.toThrow();
    up();
    await eventually(
      async () => {
        await refundOwed(sql);
        return ledgerOf(sql, accountId);
      },
      { used: 0, credits: 0, calls: 0 },
    );
    expect(await sendAndReturn(pools[0]!, request, 0)).toBe(5);
    expect((await ledgerOf(sql, accountId)).used).toBe(5);
    await end();
  });

  test.each(['join', 'refund'])('keeps nothing of an earlier charge: its %s comes first', async (first) => {
    const pool = connectPostgres(database.url, { max: 2, applicationName: 'test' });
    const { accountId } = await createCaller(sql, { included: 100 });
    const request = call(accountId, randomUUID(), 5);
    const earlier = await ledgers[0]!.charge(request);
    const sending = randomUUID();
    const parts = { call: request, sending, runForUnlocked: createLockedAccounts(pool) };
    const steps = [
      () => withTimeout((bound) => chargeOnce(pool, { ...parts, bound }), 500, 'the join').catch(() => {}),
      () => refundSending(pool, sending, 0),
    ];
    if (first === 'refund') steps.reverse();
    const running: Promise<unknown>[] = [];
    await sql.begin(async (locking) => {
      await locking`SELECT FROM call_journal WHERE account_ids[1] = ${accountId} FOR UPDATE`;
      for (const [index, step] of steps.entries()) {
        running[index] = Promise.resolve(step());
        await Promise.race([running[index], waitingForLock(sql, index + 1).catch(() => {})]);
      }
    });
    await Promise.all(running);
    earlier.refund(5);
    const refunded = { used: 0, credits: 0, calls: 0 };
    await eventually(async () => refundOwed(sql).then(() => ledgerOf(sql, accountId)), refunded);
    await pool.end({ timeout: 1 });
  });

  test('stays charged when another sending has used it meanwhile', async () => {
    const { accountId, request, charge, up, end } = await chargeUnanswered();
    await sendAndReturn(pools[0]!, request, 0);
    await expect(charge).rejects.toThrow();
    up();
    await end();
    await refundOwed(sql);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 5, credits: 0, calls: 5 });
  });
});
