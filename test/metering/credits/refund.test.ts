import { afterAll, describe, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { changePlan } from '../../../src/metering/accounts/changes.ts';
import { createCredits } from '../../../src/metering/credits/charge.ts';
import { chargeCalls } from '../../../src/metering/credits/charge-batch.ts';
import { refundCredits, refundOwed } from '../../../src/metering/credits/refund.ts';
import { purgeJournal, rollUpCalls } from '../../../src/metering/credits/rollup.ts';
import { voidAttempt } from '../../../src/metering/credits/void.ts';
import { connectPostgres, type Sql } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';
import { cancelWaiting, lockRow, waitingForLock } from '../../support/locks.ts';
import { startProxy } from '../../support/proxy.ts';
import { createCaller } from '../../support/service.ts';
import { inOneTurn } from '../../support/stopped-clock.ts';
import { attemptsOf, chargeMany, chargeOne, ledgerOf, voidAndRefund } from './ledger.ts';

const database = await createTestDatabase('give_back');
const sql = database.sql;
afterAll(() => database.drop());

/** Charges so many calls in one batch. @returns refunds one of them */
async function charge(accountId: string, count: number) {
  let onAcknowledged = () => {};
  const credits = createCredits(sql, { onEvent: (event) => event === 'refunded' && onAcknowledged() });
  const charges = await inOneTurn(() =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        credits.charge({ accountId, keyId: `key${index % 2}`, kind: 'lookup', credits: 1 }),
      ),
    ),
  );
  expect(await attemptsOf(sql, accountId)).toHaveLength(1);
  return async (index: number) => {
    const acknowledged = new Promise<void>((resolve) => {
      onAcknowledged = resolve;
    });
    charges[index]!.refund(1);
    await acknowledged;
    await refundOwed(sql);
  };
}

describe.each([
  ['before the roll-up has counted it', async () => {}],
  ['after the roll-up has counted it', async () => void (await rollUpCalls(sql))],
])('a call that is refunded %s', (_, wait) => {
  test('brings its credit and its call back, purchased credits first, the others of its batch untouched', async () => {
    const { accountId } = await createCaller(sql, { included: 1, credits: 5 });
    const refund = await charge(accountId, 3);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 3, credits: 3, calls: 3 });
    await wait();
    const left = [
      { used: 2, credits: 4, calls: 2 },
      { used: 1, credits: 5, calls: 1 },
      { used: 0, credits: 5, calls: 0 },
    ];
    for (const [index, ledger] of left.entries()) {
      await refund(index);
      expect(await ledgerOf(sql, accountId)).toEqual(ledger);
    }
    await rollUpCalls(sql);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 5, calls: 0 });
  });

  test('comes back no second time when the journal has forgotten it, because its batch is forgotten, too', async () => {
    const { accountId } = await createCaller(sql, { included: 10 });
    await charge(accountId, 2);
    const [attempt] = await attemptsOf(sql, accountId);
    const id = randomUUID();
    const call = { accountId, keyId: 'key0', kind: 'lookup', credits: 1 } as const;
    const send = () => refundCredits(sql, [{ ...call, id, attempt: attempt!, purchased: 0 }]);
    await wait();
    await send();
    await refundOwed(sql);
    await rollUpCalls(sql);
    await sql`UPDATE call_journal SET spent_at = spent_at - interval '11 minutes' WHERE attempt IN (${attempt!}, ${id})`;
    await purgeJournal(sql);
    await send();
    await refundOwed(sql);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 1, credits: 0, calls: 1 });
  });
});

test('a refund ends when it is stored, or after 2 s; then it is stored later', async () => {
  const proxy = await startProxy(database.url);
  const pool = connectPostgres(proxy.url(database.url), { max: 2 });
  const { accountId, keyId } = await createCaller(sql, { included: 10 });
  const credits = createCredits(pool);
  const charge = () => credits.charge({ accountId, keyId, kind: 'lookup', credits: 1 });
  const [stored, late] = [await charge(), await charge()];
  const rows = async () =>
    (await sql`SELECT FROM call_journal WHERE owed AND account_ids[1] = ${accountId}`).length;
  await stored.refund(1);
  expect(await rows()).toBe(1);
  proxy.hang();
  await late.refund(1);
  expect(await rows()).toBe(1);
  proxy.up();
  await credits.close(5000);
  expect(await rows()).toBe(2);
  await pool.end({ timeout: 1 });
  await proxy.close();
});

test('a refund after the service has closed its ledger is reported', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  const lost: unknown[] = [];
  const credits = createCredits(sql, { onLost: (owed) => void lost.push(...owed.values()) });
  const charge = await credits.charge({ accountId, keyId: 'a', kind: 'lookup', credits: 3 });
  await credits.close(1000);
  await charge.refund(2);
  expect(lost).toEqual([[{ accountId, keyId: 'a', kind: 'lookup', credits: 2 }]]);
});

test('what is still owed when the service stops is reported', async () => {
  const proxy = await startProxy(database.url);
  const pool = connectPostgres(proxy.url(database.url), { max: 2, statementTimeoutMs: 1000 });
  const { accountId } = await createCaller(sql, { included: 10 });
  const lost: unknown[] = [];
  const credits = createCredits(pool, { onLost: (owed) => void lost.push(...owed.values()) });
  const call = { accountId, keyId: 'a', kind: 'lookup' as const, credits: 1 };
  const charge = await credits.charge(call);
  proxy.down();
  for (let i = 0; i < 2; i += 1) void charge.refund(1);
  await credits.close(300);
  expect(lost).toEqual([[{ ...call, credits: 1 }], [{ ...call, credits: 1 }]]);
  await pool.end({ timeout: 1 });
  await proxy.close();
});

const PERIODS: [string, (accountId: string) => Promise<unknown>][] = [
  ['within the period', async () => {}],
  [
    'with rollover',
    (accountId) => sql`
      UPDATE balances SET period_start = period_start - interval '2 months', period_end = period_start
      WHERE account_id = ${accountId}`,
  ],
];

describe.each(PERIODS)('an attempt to charge %s', (_, prepare) => {
  async function createAccount(): Promise<string> {
    const { accountId } = await createCaller(sql, { included: 2, credits: 5 });
    await prepare(accountId);
    return accountId;
  }
  const charge = (sql: Sql, accountId: string, attempt: string) =>
    chargeCalls(sql, Array(3).fill({ accountId, keyId: 'a', kind: 'search', credits: 1 }), attempt).execute();

  test('that was voided before it comes charges nothing, and fails', async () => {
    const accountId = await createAccount();
    const attempt = randomUUID();
    await voidAndRefund(sql, [attempt]);
    await expect(charge(sql, accountId, attempt)).rejects.toMatchObject({ code: '23505' });
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 5, calls: 0 });
    await voidAndRefund(sql, [attempt]);
    await expect(charge(sql, accountId, attempt)).rejects.toMatchObject({ code: '23505' });
  });

  test('that is voided while it waits for the account charges nothing when its turn comes', async () => {
    const accountId = await createAccount();
    const attempt = randomUUID();
    const lock = await lockRow(sql, accountId);
    const charging = charge(sql, accountId, attempt).then(
      () => 'charged',
      () => 'refused',
    );
    await waitingForLock(sql, 1);
    await voidAttempt(sql, attempt);
    await lock.release();
    expect(await charging).toBe('refused');
    await refundOwed(sql);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 5, calls: 0 });
  });

  test('that is voided while it commits is charged first, and then refunded', async () => {
    const accountId = await createAccount();
    const attempt = randomUUID();
    let voiding: PromiseLike<unknown> | undefined;
    await sql.begin(async (transaction) => {
      await charge(transaction as unknown as Sql, accountId, attempt);
      voiding = voidAttempt(sql, attempt).execute();
      await waitingForLock(sql, 1);
    });
    await voiding;
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 3, credits: 4, calls: 3 });
    await refundOwed(sql);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 5, calls: 0 });
  });
});

test('a void takes no lock of an account, and its refund leaves a locked one for later', async () => {
  const [locked, other] = await Promise.all(
    [1, 2].map(async () => {
      const { accountId } = await createCaller(sql, { included: 10 });
      await chargeOne(createCredits(sql), accountId);
      return accountId;
    }),
  );
  const impatient = connectPostgres(database.url, { max: 2, lockTimeoutMs: 100 });
  const lock = await lockRow(sql, locked!);
  try {
    for (const id of [locked!, other!]) await voidAttempt(impatient, (await attemptsOf(sql, id))[0]!);
    await refundOwed(impatient);
    expect(await ledgerOf(sql, other!)).toEqual({ used: 0, credits: 0, calls: 0 });
    expect(await ledgerOf(sql, locked!)).toEqual({ used: 1, credits: 0, calls: 1 });
  } finally {
    await lock.release();
  }
  await refundOwed(impatient);
  expect(await ledgerOf(sql, locked!)).toEqual({ used: 0, credits: 0, calls: 0 });
  await impatient.end();
});

test('a batch that is rolled up while it is voided is counted first, and then taken off', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  await rollUpCalls(sql);
  await chargeOne(createCredits(sql), accountId);
  const attempts = await attemptsOf(sql, accountId);
  let voiding: PromiseLike<unknown> | undefined;
  await sql.begin(async (rollingUp) => {
    await rollUpCalls(rollingUp as unknown as Sql);
    voiding = voidAttempt(sql, attempts[0]!).execute();
    await waitingForLock(sql, 1);
  });
  await voiding;
  await refundOwed(sql);
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
});

test('a locked account delays the refund of its batches once, not each of them', async () => {
  const { accountId } = await createCaller(sql, { included: 100 });
  const credits = createCredits(sql);
  for (let batch = 0; batch < 40; batch += 1) await chargeOne(credits, accountId);
  for (const attempt of await attemptsOf(sql, accountId)) await voidAttempt(sql, attempt);
  const impatient = connectPostgres(database.url, { max: 2, lockTimeoutMs: 1000 });
  const lock = await lockRow(sql, accountId);
  // 40 waits for the lock would take longer than a test may.
  await refundOwed(impatient);
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 40, credits: 0, calls: 40 });
  await lock.release();
  await refundOwed(impatient);
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
  await impatient.end();
});

test('a refund whose wait ends as a "user request" leaves the locked account for later', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  await chargeOne(createCredits(sql), accountId);
  for (const attempt of await attemptsOf(sql, accountId)) await voidAttempt(sql, attempt);
  const lock = await lockRow(sql, accountId);
  const refunding = refundOwed(sql);
  await cancelWaiting(sql);
  await refunding;
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 1, credits: 0, calls: 1 });
  await lock.release();
  await refundOwed(sql);
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
});

describe('between a charge and its void', () => {
  test('a plan changes while the call waits for the account: the call is of the new period', async () => {
    const { accountId } = await createCaller(sql, { included: 10 });
    const lock = await lockRow(sql, accountId);
    const changing = changePlan(sql, accountId, 'plus', {}, 'test');
    await waitingForLock(sql, 1);
    const calling = chargeOne(createCredits(sql), accountId);
    await waitingForLock(sql, 2);
    await lock.release();
    await Promise.all([changing, calling]);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 1, credits: 0, calls: 1 });
    await voidAndRefund(sql, await attemptsOf(sql, accountId));
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
  });

  test('a plan changes while the refund waits for the account: its purchased credits come back', async () => {
    const { accountId } = await createCaller(sql, { included: 0, credits: 10 });
    await chargeMany(createCredits(sql), accountId, 5);
    await voidAttempt(sql, (await attemptsOf(sql, accountId))[0]!);
    const lock = await lockRow(sql, accountId);
    const changing = changePlan(sql, accountId, 'plus', {}, 'test');
    await waitingForLock(sql, 1);
    const refunding = refundOwed(sql);
    await waitingForLock(sql, 2);
    await lock.release();
    await Promise.all([changing, refunding]);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 10, calls: 0 });
  });
});

test('a charge that is answered without its row is voided, because it can not be told what was charged', async () => {
  const { accountId } = await createCaller(sql, { included: 9 });
  const rowless = new Proxy(sql, {
    get: (target, name) =>
      name === 'unsafe'
        ? (...parameters: Parameters<Sql['unsafe']>) => target.unsafe(...parameters).then(() => [])
        : Reflect.get(target, name),
  });
  const voided = Promise.withResolvers<void>();
  const credits = createCredits(rowless, { onEvent: (event) => event === 'voided' && voided.resolve() });
  const call = { accountId, keyId: 'a', kind: 'search', credits: 1 } as const;
  await expect(credits.charge(call)).rejects.toThrow('0 rows instead of one');
  await voided.promise;
  await refundOwed(sql);
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
  await credits.close(1000);
});
