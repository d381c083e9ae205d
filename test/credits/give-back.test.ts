import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { changePlan } from '../../src/accounts/changes.ts';
import { createCredits } from '../../src/credits/admit.ts';
import { type ChargedCall, giveBackCall } from '../../src/credits/give-back.ts';
import { reverseVoided } from '../../src/credits/reverse.ts';
import { rollUpCalls } from '../../src/credits/rollup.ts';
import { connectPostgres, type Sql } from '../../src/postgres/connect.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startProxy } from '../support/proxy.ts';
import { createCaller } from '../support/service.ts';
import { until } from '../support/until.ts';
import { ledgerOf } from './ledger.ts';

let database: TestDatabase;
let sql: Sql;
beforeAll(async () => {
  database = await createTestDatabase('give_back');
  sql = database.sql;
});
afterAll(() => database.drop());

/** Calls of one batch, each as it can be given back. */
async function charge(accountId: string, count: number): Promise<ChargedCall[]> {
  const credits = createCredits(sql);
  const calls = Array.from({ length: count }, (_, index) => ({
    accountId,
    keyId: `key${index % 2}`,
    kind: 'lookup' as const,
  }));
  const admissions = await Promise.all(calls.map(credits.admit));
  return admissions.map((admission, index) => {
    if (!admission.admitted) throw new Error('refused');
    return { ...calls[index]!, attempt: admission.attempt };
  });
}

describe.each([
  ['before the roll-up has counted it', async () => {}],
  ['after the roll-up has counted it', async () => void (await rollUpCalls(sql))],
])('a call that is given back %s', (_, wait) => {
  test('returns its credit and its call, purchased credits first, the others of its batch untouched', async () => {
    const { accountId } = await createCaller(sql, { included: 1, credits: 5 });
    const calls = await charge(accountId, 3);
    expect(new Set(calls.map(({ attempt }) => attempt)).size).toBe(1);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 3, credits: 3, calls: 3 });
    await wait();
    const left = [
      { used: 2, credits: 4, calls: 2 },
      { used: 1, credits: 5, calls: 1 },
      { used: 0, credits: 5, calls: 0 },
    ];
    for (const [index, call] of calls.entries()) {
      await giveBackCall(sql, call, randomUUID());
      await reverseVoided(sql);
      expect(await ledgerOf(sql, accountId)).toEqual(left[index]!);
    }
    await rollUpCalls(sql);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 5, calls: 0 });
  });

  test('returns it once, however often the statement is sent', async () => {
    const { accountId } = await createCaller(sql, { included: 10 });
    const [call] = await charge(accountId, 3);
    await wait();
    const id = randomUUID();
    for (let i = 0; i < 3; i += 1) {
      await giveBackCall(sql, call!, id);
      await reverseVoided(sql);
    }
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 2, credits: 0, calls: 2 });
  });

  test('leaves a period alone that has opened since, and returns a purchased credit', async () => {
    const { accountId } = await createCaller(sql, { included: 1, credits: 5 });
    const [call] = await charge(accountId, 4);
    await wait();
    await changePlan(sql, accountId, 'plus', {}, 'test');
    await giveBackCall(sql, call!, randomUUID());
    await reverseVoided(sql);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 3, calls: 3 });
  });
});

test('what is owed while Postgres is away is returned when it is back, and the stop waits for it', async () => {
  const { hostname, port } = new URL(database.url);
  const proxy = await startProxy({ host: hostname, port: Number(port) });
  const pool = connectPostgres(proxy.url(database.url), { max: 2, statementTimeoutMs: 1000 });
  const { accountId } = await createCaller(sql, { included: 10 });
  const credits = createCredits(pool, { onGivenBack: () => void reverseVoided(sql) });
  const call = { accountId, keyId: 'a', kind: 'lookup' as const };
  const admission = await credits.admit(call);
  if (!admission.admitted) throw new Error('refused');
  proxy.down();
  credits.giveBack({ ...call, attempt: admission.attempt });
  await Bun.sleep(300);
  expect((await ledgerOf(sql, accountId)).used).toBe(1);
  proxy.up();
  await credits.close(5000);
  await until('the credit', async () => (await ledgerOf(sql, accountId)).used === 0);
  await pool.end({ timeout: 1 });
  await proxy.close();
});

test('what is still owed when the service stops is reported', async () => {
  const { hostname, port } = new URL(database.url);
  const proxy = await startProxy({ host: hostname, port: Number(port) });
  const pool = connectPostgres(proxy.url(database.url), { max: 2, statementTimeoutMs: 1000 });
  const { accountId } = await createCaller(sql, { included: 10 });
  const lost: Record<string, number>[] = [];
  const credits = createCredits(pool, { onLost: ({ calls }) => void lost.push(calls) });
  const call = { accountId, keyId: 'a', kind: 'lookup' as const };
  const admission = await credits.admit(call);
  if (!admission.admitted) throw new Error('refused');
  proxy.down();
  for (let i = 0; i < 2; i += 1) credits.giveBack({ ...call, attempt: admission.attempt });
  await credits.close(300);
  expect(lost).toEqual([{ [accountId]: 2 }]);
  await pool.end({ timeout: 1 });
  await proxy.close();
});
