/** Requests that are charged once, however often they are sent (contract: Idempotency-Key). */
import { afterAll, describe, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { changePlan } from '../../src/accounts/changes.ts';
import { createLockedAccounts } from '../../src/accounts/locked.ts';
import { createCredits } from '../../src/credits/admit.ts';
import type { Call } from '../../src/credits/call.ts';
import { chargeOnce, returnAll } from '../../src/credits/once.ts';
import { purgeJournal, rollUpCalls } from '../../src/credits/rollup.ts';
import { reverseVoided } from '../../src/credits/void.ts';
import { connectPostgres, type Sql } from '../../src/postgres/connect.ts';
import { withTimeout } from '../../src/runtime/timeout.ts';
import { createTestDatabase } from '../support/database.ts';
import { lockRow, waitingForLock } from '../support/locks.ts';
import { startProxy } from '../support/proxy.ts';
import { createCaller } from '../support/service.ts';
import { eventually } from '../support/until.ts';
import { attemptsOf, ledgerOf } from './ledger.ts';

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

/** One sending, which returns so many of its credits. Ends when they have arrived. */
async function sendAndReturn(pool: Sql, request: Call, back: number): Promise<void> {
  const ledger = createCredits(pool);
  const admission = await ledger.admit(request);
  expect(admission).toMatchObject({ spent: request.credits, quota: null });
  admission.giveBack(back);
  await ledger.close(5000);
}

test('many sendings at once, through two instances, are charged once; another request is charged, too', async () => {
  const { accountId } = await createCaller(sql, { included: 7, credits: 10 });
  const identity = randomUUID();
  const send = (_: unknown, i: number) => ledgers[i % 2]!.admit(call(accountId, identity, 10));
  const admissions = await Promise.all(Array.from({ length: 40 }, send));
  expect(new Set(admissions.map(({ spent, quota }) => `${spent} ${quota}`))).toEqual(new Set(['10 null']));
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 10, credits: 7, calls: 10 });
  await ledgers[0]!.admit(call(accountId, randomUUID(), 2));
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 12, credits: 5, calls: 12 });
});

test('what is left in the end is what the sending used that returned the fewest credits', async () => {
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
        const running: Promise<void>[] = [];
        for (const [i, { back, waits }] of sendings.entries()) {
          const sending = sendAndReturn(pools[i % 2]!, call(accountId, identity, needed), back);
          running.push(sending);
          if (waits) await sending.then(() => reverseVoided(sql));
          if (i % 3 === 0) await rollUpCalls(sql);
        }
        await Promise.all(running);
        await reverseVoided(sql);
        const used = needed - Math.min(...sendings.map(({ back }) => back));
        const credits = 100 - Math.max(used - included, 0);
        expect(await ledgerOf(sql, accountId)).toEqual({ used, credits, calls: used });
      },
    ),
    { numRuns: 20 },
  );
});

test('a request whose credits sufficed for a part is charged the rest when it is sent again', async () => {
  const { accountId } = await createCaller(sql, { included: 3 });
  const request = call(accountId, randomUUID(), 10);
  expect(await ledgers[0]!.admit(request)).toMatchObject({ spent: 3, quota: { limit: 3 } });
  expect(await ledgers[1]!.admit(request)).toMatchObject({ spent: 3, quota: { limit: 3 } });
  await sql`UPDATE balances SET credits = 20 WHERE account_id = ${accountId}`;
  expect(await ledgers[0]!.admit({ ...request, wantsLeft: true })).toMatchObject({
    spent: 10,
    quota: null,
    left: 13,
  });
  expect(await ledgers[1]!.admit({ ...request, wantsLeft: true })).toMatchObject({
    spent: 10,
    quota: null,
    left: 13,
  });
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 10, credits: 13, calls: 10 });
});

test('a request that was paid in twenty parts is answered again, and charged what is missing', async () => {
  const { accountId } = await createCaller(sql, { included: 0 });
  const request = call(accountId, randomUUID(), 22);
  for (let part = 1; part <= 20; part += 1) {
    await sql`UPDATE balances SET credits = 1 WHERE account_id = ${accountId}`;
    const { spent, left } = await ledgers[part % 2]!.admit({ ...request, wantsLeft: part % 3 === 0 });
    expect([spent, left]).toEqual([part, part % 3 === 0 ? 0 : null]);
  }
  const repeat = { ...request, credits: 20 };
  expect(await ledgers[0]!.admit(repeat)).toMatchObject({ spent: 20, quota: null });
  expect(await ledgers[0]!.admit({ ...repeat, wantsLeft: true })).toMatchObject({ spent: 20, left: 0 });
  await sql`UPDATE balances SET credits = 5 WHERE account_id = ${accountId}`;
  expect(await ledgers[1]!.admit(request)).toMatchObject({ spent: 22, quota: null });
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 22, credits: 3, calls: 22 });
});

test('credits come back though fifty sendings have used them at once', async () => {
  const { accountId } = await createCaller(sql, { included: 100 });
  const request = call(accountId, randomUUID(), 5);
  const ledger = createCredits(pools[0]!);
  const admissions = await Promise.all(Array.from({ length: 50 }, () => ledger.admit(request)));
  for (const { giveBack } of admissions) giveBack(5);
  await ledger.close(5000);
  await reverseVoided(sql);
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
});

test('included credits that come back after their period has ended bring no purchased ones', async () => {
  const { accountId } = await createCaller(sql, { included: 5, credits: 10 });
  const ledger = createCredits(pools[0]!);
  const { giveBack } = await ledger.admit(call(accountId, randomUUID(), 5));
  await ledger.admit({ ...call(accountId, randomUUID(), 4), identity: undefined });
  await changePlan(sql, accountId, 'plus', {}, 'test');
  giveBack(5);
  await ledger.close(5000);
  await reverseVoided(sql);
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 6, calls: 4 });
});

test('after ten minutes it is a new request, whether its old charge is still in the journal or not', async () => {
  const { accountId } = await createCaller(sql, { included: 100 });
  const request = call(accountId, randomUUID(), 5);
  const age = (time: string) =>
    sql`UPDATE call_journal SET spent_at = now() - ${time}::interval WHERE account_ids[1] = ${accountId}`;
  await ledgers[0]!.admit(request);
  await rollUpCalls(sql);
  await age('9 minutes 50 seconds');
  await purgeJournal(sql);
  await ledgers[0]!.admit(request);
  expect((await ledgerOf(sql, accountId)).used).toBe(5);
  await age('10 minutes 1 second');
  await ledgers[0]!.admit(request);
  expect((await ledgerOf(sql, accountId)).used).toBe(10);
  await rollUpCalls(sql);
  await age('10 minutes 1 second');
  await purgeJournal(sql);
  await ledgers[0]!.admit(request);
  expect((await ledgerOf(sql, accountId)).used).toBe(15);
});

describe('a charge whose outcome is unknown', () => {
  /** Loses the answer to a charge that has arrived. Until `up` its instance can't return it. */
  async function chargeUnanswered() {
    const proxy = await startProxy(database.url);
    const pool = connectPostgres(proxy.url(database.url), { max: 2, applicationName: 'test' });
    const ledger = createCredits(pool);
    const { accountId } = await createCaller(sql, { included: 100 });
    const request = call(accountId, randomUUID(), 5);
    const lock = await lockRow(sql, accountId);
    const admission = ledger.admit(request);
    await waitingForLock(sql, 1);
    proxy.hang();
    await lock.release();
    await eventually(async () => (await ledgerOf(sql, accountId)).used, 5);
    const end = async () => {
      await ledger.close(5000);
      await pool.end({ timeout: 1 });
      await proxy.close();
    };
    return { accountId, request, admission, up: () => proxy.up(), end };
  }

  test('costs nothing; the next sending is charged', async () => {
    const { accountId, request, admission, up, end } = await chargeUnanswered();
    await expect(admission).rejects.toThrow();
    up();
    await eventually(
      async () => {
        await reverseVoided(sql);
        return ledgerOf(sql, accountId);
      },
      { used: 0, credits: 0, calls: 0 },
    );
    await sendAndReturn(pools[0]!, request, 0);
    expect((await ledgerOf(sql, accountId)).used).toBe(5);
    await end();
  });

  test('because its search for earlier charges failed closes the ledger for a moment only', async () => {
    const pool = connectPostgres(database.url, { max: 2, applicationName: 'test', lockTimeoutMs: 50 });
    const ledger = createCredits(pool);
    const { accountId } = await createCaller(sql, { included: 100 });
    const request = call(accountId, randomUUID(), 5);
    const earlier = await ledgers[0]!.admit(request);
    await sql.begin(async (locking) => {
      await locking`SELECT FROM call_journal WHERE account_ids[1] = ${accountId} FOR UPDATE`;
      await expect(ledger.admit(request)).rejects.toThrow('lock timeout');
    });
    const unkeyed = { ...request, identity: undefined, credits: 1 };
    await eventually(() => ledger.admit(unkeyed).then(({ spent }) => spent, String), 1);
    // The sending that failed keeps none of the credits that the earlier one returns.
    earlier.giveBack(5);
    const returned = { used: 1, credits: 0, calls: 1 };
    await eventually(async () => reverseVoided(sql).then(() => ledgerOf(sql, accountId)), returned);
    await ledger.close(5000);
    await pool.end({ timeout: 1 });
  });

  test.each(['search', 'return'])(
    'keeps none of the earlier charges that it searched for: %s first',
    async (first) => {
      const pool = connectPostgres(database.url, { max: 2, applicationName: 'test' });
      const { accountId } = await createCaller(sql, { included: 100 });
      const request = call(accountId, randomUUID(), 5);
      const earlier = await ledgers[0]!.admit(request);
      const attempts = await attemptsOf(sql, accountId);
      const user = randomUUID();
      const parts = { call: request, user, attempts: [], runForUnlocked: createLockedAccounts(pool) };
      const steps = [
        () =>
          withTimeout((bound) => chargeOnce(pool, { ...parts, bound }), 500, 'the search').catch(() => {}),
        () => returnAll(pool, user, attempts),
      ];
      if (first === 'return') steps.reverse();
      const running: Promise<unknown>[] = [];
      await sql.begin(async (locking) => {
        await locking`SELECT FROM call_journal WHERE account_ids[1] = ${accountId} FOR UPDATE`;
        for (const [index, step] of steps.entries()) {
          running[index] = Promise.resolve(step());
          await Promise.race([running[index], waitingForLock(sql, index + 1).catch(() => {})]);
        }
      });
      await Promise.all(running);
      earlier.giveBack(5);
      const returned = { used: 0, credits: 0, calls: 0 };
      await eventually(async () => reverseVoided(sql).then(() => ledgerOf(sql, accountId)), returned);
      await pool.end({ timeout: 1 });
    },
  );

  test('stays charged when another sending has used it meanwhile', async () => {
    const { accountId, request, admission, up, end } = await chargeUnanswered();
    await sendAndReturn(pools[0]!, request, 0);
    await expect(admission).rejects.toThrow();
    up();
    await end();
    await reverseVoided(sql);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 5, credits: 0, calls: 5 });
  });
});
