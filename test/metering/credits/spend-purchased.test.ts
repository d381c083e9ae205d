/** `account limits --spend-purchased no`: an account stops at its allowance, and its purchased credits stay. */
import { afterAll, expect, test } from 'bun:test';
import { changeLimits } from '../../../src/metering/accounts/changes.ts';
import { createCredits } from '../../../src/metering/credits/charge.ts';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';
import { createCaller } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { chargeMany, chargeOne, ledgerOf } from './ledger.ts';

const database = await createTestDatabase('spend_purchased');
const sql = database.sql;
/** The pools and ledgers of two instances, with the planner settings of the service. */
const pools = [0, 1].map(() => connectPostgres(database.url, { max: 2, pointQueries: true }));
const instances = pools.map((pool) => createCredits(pool));
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
