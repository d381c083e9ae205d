/** `account limits --spend-purchased no`: an account stops at its allowance, and its purchased credits stay. */
import { afterAll, afterEach, expect, test } from 'bun:test';
import { changeLimits } from '../../../src/metering/accounts/changes.ts';
import { grantCredits } from '../../../src/metering/accounts/grant.ts';
import { createCredits } from '../../../src/metering/credits/charge.ts';
import { refundOwed } from '../../../src/metering/credits/refund.ts';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';
import { createCaller } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import {
  createAccountAt,
  createTestClock,
  installTestClock,
  releaseTestClock,
} from '../accounts/account-at.ts';
import { attemptsOf, chargeMany, chargeOne, ledgerOf, voidAndRefund } from './ledger.ts';

const database = await createTestDatabase('spend_purchased');
await installTestClock(database.url);
const sql = database.sql;
/** The pools and ledgers of two instances, with the planner settings of the service. */
const pools = [0, 1].map(() => connectPostgres(database.url, { max: 2, pointQueries: true }));
const instances = pools.map((pool) => createCredits(pool));
afterEach(() => releaseTestClock(sql));
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end({ timeout: 5 })));
  await database.drop();
});

const setSpending = (id: string, spendPurchased: boolean) =>
  changeLimits(sql, id, { spendPurchased }, 'test');

test('the account stops at its allowance, one by one and many at once; the refusal names the allowance', async () => {
  const { accountId } = await createCaller(sql, { included: 3, credits: 10 });
  await setSpending(accountId, false);
  expect((await chargeOne(instances[0]!, accountId)).charged).toBe(true);
  expect(await chargeMany(instances[0]!, accountId, 6)).toEqual({ charged: 2, refused: 4, failed: 0 });
  expect(await chargeOne(instances[1]!, accountId)).toMatchObject({ charged: false, limit: 3 });
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 3, credits: 10, calls: 3 });
});

test('turned on again, purchased credits pay at once; turned off beyond the allowance, they stop', async () => {
  const { accountId } = await createCaller(sql, { included: 1, credits: 4 });
  expect(await chargeMany(instances[0]!, accountId, 3)).toEqual({ charged: 3, refused: 0, failed: 0 });
  await setSpending(accountId, false);
  expect(await chargeMany(instances[0]!, accountId, 3)).toEqual({ charged: 0, refused: 3, failed: 0 });
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 3, credits: 2, calls: 3 });
  await setSpending(accountId, true);
  expect(await chargeMany(instances[0]!, accountId, 3)).toEqual({ charged: 2, refused: 1, failed: 0 });
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 5, credits: 0, calls: 5 });
});

test('a new period opens with its allowance, and stops at it', async () => {
  const clock = await createTestClock(sql, '2026-03-15T00:00:00Z');
  const id = await createAccountAt(sql, clock.now(), { plan: 'free', included: 2 });
  await grantCredits(sql, id, { credits: 5 }, 'test');
  await setSpending(id, false);
  const credits = createCredits(sql);
  expect(await chargeMany(credits, id, 3)).toEqual({ charged: 2, refused: 1, failed: 0 });
  await clock.set('2026-04-01T00:00:00Z');
  expect(await chargeMany(credits, id, 5)).toEqual({ charged: 2, refused: 3, failed: 0 });
  expect(await ledgerOf(sql, id)).toEqual({ used: 2, credits: 5, calls: 4 });
});

test('accounts of one batch are each charged by their own choice', async () => {
  const stops = await createCaller(sql, { included: 1, credits: 5 });
  const goesOn = await createCaller(sql, { included: 1, credits: 5 });
  await setSpending(stops.accountId, false);
  const [first, second] = await Promise.all([
    chargeMany(instances[0]!, stops.accountId, 3),
    chargeMany(instances[0]!, goesOn.accountId, 3),
  ]);
  expect([first.charged, second.charged]).toEqual([1, 3]);
  expect(await ledgerOf(sql, stops.accountId)).toEqual({ used: 1, credits: 5, calls: 1 });
  expect(await ledgerOf(sql, goesOn.accountId)).toEqual({ used: 3, credits: 3, calls: 3 });
});

test('under load on two instances nothing purchased is spent once the change is committed', async () => {
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
    await chargeMany(instances[0]!, accountId, 20);
    await chargeMany(instances[1]!, accountId, 20);
    expect(await balance()).toBe(stopped);
    await setSpending(accountId, true);
  }
  isOver = true;
  await Promise.all(clients);
  const { used, credits, calls } = await ledgerOf(sql, accountId);
  // The 20s were refused: between the two changes no call was charged.
  expect([used, 100_000 - credits, calls]).toEqual([charged, charged, charged]);
});

test('what a voided batch took of purchased credits is refunded, although they are not to be spent now', async () => {
  const { accountId } = await createCaller(sql, { included: 1, credits: 5 });
  await chargeMany(instances[0]!, accountId, 3);
  await setSpending(accountId, false);
  await voidAndRefund(sql, await attemptsOf(sql, accountId));
  await refundOwed(sql);
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 5, calls: 0 });
});
