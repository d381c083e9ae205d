import { afterAll, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { changeLimits } from '../../../src/metering/accounts/changes.ts';
import { createCredits } from '../../../src/metering/credits/charge.ts';
import { createBatchCharge } from '../../../src/metering/credits/charge-batch.ts';
import type { Sql } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';
import { createCaller } from '../../support/service.ts';
import { inOneTurn } from '../../support/stopped-clock.ts';
import { attemptsOf, chargeOne, ledgerOf } from './ledger.ts';

const database = await createTestDatabase('charge_batch');
const sql = database.sql;
afterAll(() => database.drop());

/** Charges single calls. @returns how many statements the batch took */
function createCountingCharge() {
  let statements = 0;
  const unsafe: Sql['unsafe'] = (...query) => {
    statements += 1;
    return sql.unsafe(...query);
  };
  const charge = createBatchCharge(
    new Proxy(sql, { get: (_, key) => (key === 'unsafe' ? unsafe : sql[key as never]) }),
  );
  return async (...accountIds: string[]): Promise<number> => {
    statements = 0;
    const calls = accountIds.map(
      (accountId) => ({ accountId, keyId: '', kind: 'lookup', credits: 1 }) as const,
    );
    await charge(calls, randomUUID(), async (work) => work);
    return statements;
  };
}

test('only the first batch that an account cannot pay from its allowance takes a second statement', async () => {
  const [rich, bought] = await Promise.all([
    createCaller(sql, { included: 100 }),
    createCaller(sql, { included: 2, credits: 100 }),
  ]);
  const charge = createCountingCharge();
  const both = () => charge(rich.accountId, bought.accountId);
  const statements = [await both(), await both(), await both(), await both(), await charge(rich.accountId)];
  await changeLimits(sql, bought.accountId, { includedCredits: 100 }, 'test');
  statements.push(await both(), await both());
  expect(statements).toEqual([1, 1, 2, 1, 1, 1, 1]);
  expect(await ledgerOf(sql, rich.accountId)).toEqual({ used: 7, credits: 0, calls: 7 });
  expect(await ledgerOf(sql, bought.accountId)).toEqual({ used: 6, credits: 98, calls: 6 });
});

test('a batch with an account that cannot pay charges each account once, by one attempt, and is no failure', async () => {
  const [rich, poor] = await Promise.all([
    createCaller(sql, { included: 9 }),
    createCaller(sql, { included: 2 }),
  ]);
  const events: string[] = [];
  const credits = createCredits(sql, { onEvent: (event) => events.push(event) });
  const accountIds = [rich, poor, poor, rich, poor].map(({ accountId }) => accountId);
  const charges = await inOneTurn(() => Promise.all(accountIds.map((id) => chargeOne(credits, id))));
  expect(charges.map(({ charged }) => charged)).toEqual([true, true, true, true, false]);
  expect(events).toEqual(['charged']);
  for (const { accountId } of [rich, poor]) {
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 2, credits: 0, calls: 2 });
    expect(await attemptsOf(sql, accountId)).toHaveLength(1);
  }
});
