import { afterAll, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { changeLimits } from '../../../src/metering/accounts/changes.ts';
import { createCredits } from '../../../src/metering/credits/charge.ts';
import { chargeBatch } from '../../../src/metering/credits/charge-batch.ts';
import type { Sql } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';
import { createCaller } from '../../support/service.ts';
import { inOneTurn } from '../../support/stopped-clock.ts';
import { attemptsOf, chargeOne, ledgerOf } from './ledger.ts';

const database = await createTestDatabase('charge_batch');
const sql = database.sql;
afterAll(() => database.drop());

/** The pool, and the statements that it was sent. */
function recording() {
  const sent: string[] = [];
  const unsafe: Sql['unsafe'] = (text, ...more) => {
    sent.push(text);
    return sql.unsafe(text, ...more);
  };
  const recorded = new Proxy(sql, { get: (_, key) => (key === 'unsafe' ? unsafe : sql[key as never]) });
  return { recorded, sent };
}

/** Charges single calls. @returns how many statements the batch took */
function createCountingCharge() {
  const { recorded, sent } = recording();
  return async (...accountIds: string[]): Promise<number> => {
    sent.length = 0;
    const calls = accountIds.map(
      (accountId) => ({ accountId, keyId: '', kind: 'lookup', credits: 1 }) as const,
    );
    await chargeBatch(recorded, calls, randomUUID(), async (work) => work);
    return sent.length;
  };
}

test('a batch that its accounts can pay takes one statement, also from purchased credits', async () => {
  const [rich, bought, poor] = await Promise.all([
    createCaller(sql, { included: 100 }),
    createCaller(sql, { included: 2, credits: 4 }),
    createCaller(sql, { included: 1 }),
  ]);
  const charge = createCountingCharge();
  const both = () => charge(rich.accountId, bought.accountId);
  expect([await both(), await both(), await both(), await charge(poor.accountId)]).toEqual([1, 1, 1, 1]);
  expect([await charge(rich.accountId, poor.accountId), await both()]).toEqual([2, 1]);
  await changeLimits(sql, poor.accountId, { includedCredits: 9 }, 'test');
  expect(await charge(rich.accountId, poor.accountId)).toBe(1);
  expect(await ledgerOf(sql, rich.accountId)).toEqual({ used: 6, credits: 0, calls: 6 });
  expect(await ledgerOf(sql, bought.accountId)).toEqual({ used: 4, credits: 2, calls: 4 });
  expect(await ledgerOf(sql, poor.accountId)).toEqual({ used: 2, credits: 0, calls: 2 });
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

test('an account that was short asks before it joins a batch, and spends what it gets at once', async () => {
  const [rich, poor] = await Promise.all([
    createCaller(sql, { included: 9 }),
    createCaller(sql, { included: 0 }),
  ]);
  const { recorded, sent } = recording();
  const credits = createCredits(recorded);
  const inTurn = () => sent.filter((text) => text.includes('charge_in_turn')).length;
  const both = () =>
    inOneTurn(() => Promise.all([rich, poor].map(({ accountId }) => chargeOne(credits, accountId))));
  const first = await both();
  expect([first.map(({ charged }) => charged), inTurn()]).toEqual([[true, false], 1]);
  expect([await both(), inTurn()]).toEqual([first, 1]);
  await changeLimits(sql, poor.accountId, { includedCredits: 1 }, 'test');
  expect((await both()).map(({ charged }) => charged)).toEqual([true, true]);
  expect((await both()).map(({ charged }) => charged)).toEqual([true, false]);
  expect(await ledgerOf(sql, poor.accountId)).toEqual({ used: 1, credits: 0, calls: 1 });
});
