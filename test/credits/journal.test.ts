import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { changeLimits, changePlan } from '../../src/accounts/changes.ts';
import { createCredits } from '../../src/credits/admit.ts';
import { moveJournal } from '../../src/credits/journal.ts';
import { refund, undoAttempt } from '../../src/credits/refund.ts';
import { type Payment, spendIfPayable } from '../../src/credits/spend.ts';
import { connectPostgres, type Sql } from '../../src/postgres/connect.ts';
import { DAY } from '../../src/units.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { createCaller } from '../support/service.ts';
import { admit, admitMany, ledgerOf } from './ledger.ts';

let database: TestDatabase;
let sql: Sql;
beforeAll(async () => {
  database = await createTestDatabase('journal');
  sql = database.sql;
});
afterAll(() => database.drop());

const callsOf = async (from: 'calls_by_day' | 'daily_calls', accountId: string) => {
  const rows = await sql`
    SELECT key_id AS key, kind, calls FROM ${sql(from)} WHERE account_id = ${accountId} ORDER BY key_id, kind`;
  return rows.map((row) => ({ ...row }));
};

/** For calls that are spent at this moment. */
async function spentNow(): Promise<{ instant: string; spentAt: string }> {
  const [clock] = await sql<{ instant: string; spentAt: string }[]>`
    SELECT now()::text AS instant, clock_timestamp()::text AS "spentAt"`;
  return { ...clock! };
}

test('calls are read the same before and after they are moved, and moving again changes nothing', async () => {
  const { accountId } = await createCaller(sql, { included: 100 });
  const credits = createCredits(sql);
  const call = (keyId: string, kind: 'search' | 'lookup') => credits.admit({ accountId, keyId, kind });
  await Promise.all([call('a', 'search'), call('a', 'search'), call('b', 'lookup')]);
  await call('a', 'search');
  const counted = [
    { key: 'a', kind: 'search', calls: 3 },
    { key: 'b', kind: 'lookup', calls: 1 },
  ];
  expect(await callsOf('calls_by_day', accountId)).toEqual(counted);
  expect(await callsOf('daily_calls', accountId)).toEqual([]);
  expect(await moveJournal(sql)).toBe(2);
  expect(await callsOf('daily_calls', accountId)).toEqual(counted);
  expect(await callsOf('calls_by_day', accountId)).toEqual(counted);
  await call('b', 'lookup');
  expect((await callsOf('calls_by_day', accountId))[1]).toEqual({ key: 'b', kind: 'lookup', calls: 2 });
  expect(await moveJournal(sql)).toBe(1);
  expect(await moveJournal(sql)).toBe(0);
  expect((await callsOf('calls_by_day', accountId))[1]).toEqual({ key: 'b', kind: 'lookup', calls: 2 });
});

test('what was given back is not counted, whether it was moved before or not', async () => {
  for (const movedBefore of [true, false]) {
    const { accountId } = await createCaller(sql, { included: 10 });
    await createCredits(sql).admit({ accountId, keyId: 'a', kind: 'search' });
    if (movedBefore) await moveJournal(sql);
    const ask = { accountId, keyId: 'a', kind: 'search', calls: 1 } as const;
    await refund(sql, randomUUID(), [ask], { accountId, fromPurchased: 0, ...(await spentNow()) });
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
    expect(await callsOf('calls_by_day', accountId)).toEqual([]);
    await moveJournal(sql);
    expect(await callsOf('calls_by_day', accountId)).toEqual([]);
  }
});

test('what is given back after its period has ended is no longer used, and purchased credits return', async () => {
  const { accountId } = await createCaller(sql, { included: 10, credits: 5 });
  const ask = { accountId, keyId: 'a', kind: 'search', calls: 3 } as const;
  await sql`UPDATE balances SET used = 7 WHERE account_id = ${accountId}`;
  const before = await spentNow();
  await changePlan(sql, accountId, 'plus', {}, 'test');
  await sql`UPDATE balances SET used = 7 WHERE account_id = ${accountId}`;
  await refund(sql, randomUUID(), [ask], { accountId, fromPurchased: 2, ...before });
  expect(await ledgerOf(sql, accountId)).toMatchObject({ used: 7, credits: 7 });
});

test('a give-back that is repeated, also while it is under way, happens once', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  await sql`UPDATE balances SET used = 7 WHERE account_id = ${accountId}`;
  const ask = { accountId, keyId: 'a', kind: 'search', calls: 2 } as const;
  const id = randomUUID();
  const spent = { accountId, fromPurchased: 0, ...(await spentNow()) };
  const once = () => refund(sql, id, [ask], spent);
  await Promise.all([once(), once(), once()]);
  await once();
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 5, credits: 0, calls: -2 });
});

/** The id of the statement that the account's call was spent by. */
async function attemptOf(accountId: string): Promise<string> {
  const [entry] = await sql<{ attempt: string }[]>`
    SELECT attempt FROM call_journal WHERE ${accountId} = ANY (account_ids)`;
  return entry!.attempt;
}

const OVER = new Date(Date.now() - 1000);

test('what was paid with purchased credits since is what comes back first', async () => {
  const { accountId } = await createCaller(sql, { included: 3, credits: 5 });
  const credits = createCredits(sql);
  const spendThree = () =>
    Promise.all(Array.from({ length: 3 }, () => credits.admit({ accountId, keyId: 'a', kind: 'search' })));
  await spendThree();
  const id = await attemptOf(accountId);
  await moveJournal(sql);
  await spendThree();
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 6, credits: 2, calls: 6 });
  expect(await undoAttempt(sql, { id, calls: { [accountId]: 1 }, deadline: OVER })).toBe('spent');
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 3, credits: 5, calls: 3 });
  // And what follows is exact: three of the five that are left are spent, and given back.
  await moveJournal(sql);
  await spendThree();
  const late = await attemptOf(accountId);
  expect(await undoAttempt(sql, { id: late, calls: { [accountId]: 1 }, deadline: OVER })).toBe('spent');
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 3, credits: 5, calls: 3 });
});

describe('a period that is opened between a call and its give-back', () => {
  const DAYS_AGO = () => new Date(Date.now() - 5 * DAY);
  const undo = async (accountId: string) =>
    undoAttempt(sql, { id: await attemptOf(accountId), calls: { [accountId]: 1 }, deadline: OVER });

  test('from an instant before the call: its purchased credit returns', async () => {
    const { accountId } = await createCaller(sql, { included: 0, credits: 5 });
    await admit(createCredits(sql), accountId);
    await changePlan(sql, accountId, 'plus', { periodStart: DAYS_AGO() }, 'test');
    expect(await undo(accountId)).toBe('spent');
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 5, calls: 0 });
  });

  test('from the same instant as the one before: what is used since stays', async () => {
    const { accountId } = await createCaller(sql, { included: 10 });
    const periodStart = DAYS_AGO();
    await changePlan(sql, accountId, 'plus', { periodStart }, 'test');
    await admit(createCredits(sql), accountId);
    const attempt = { id: await attemptOf(accountId), calls: { [accountId]: 1 }, deadline: OVER };
    await changePlan(sql, accountId, 'plus', { periodStart }, 'test');
    await admit(createCredits(sql), accountId);
    await admit(createCredits(sql), accountId);
    expect(await undoAttempt(sql, attempt)).toBe('spent');
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 2, credits: 0, calls: 2 });
  });

  test('while the call waited for the account: it is of the new one', async () => {
    const { accountId } = await createCaller(sql, { included: 10 });
    let changing: Promise<unknown> | undefined;
    let calling: Promise<unknown> | undefined;
    await sql.begin(async (holding) => {
      await holding`SELECT 1 FROM balances WHERE account_id = ${accountId} FOR UPDATE`;
      changing = changePlan(sql, accountId, 'plus', {}, 'test');
      await Bun.sleep(100);
      calling = admit(createCredits(sql), accountId);
      await Bun.sleep(100);
    });
    await Promise.all([changing, calling]);
    expect((await ledgerOf(sql, accountId)).used).toBe(1);
    expect(await undo(accountId)).toBe('spent');
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
  });

  test('by the call itself: it is of that one', async () => {
    const { accountId } = await createCaller(sql, { included: 10 });
    await sql`
      UPDATE balances SET used = 9, period_start = period_start - interval '2 months', period_end = period_start
      WHERE account_id = ${accountId}`;
    await admit(createCredits(sql), accountId);
    await admit(createCredits(sql), accountId);
    expect((await ledgerOf(sql, accountId)).used).toBe(2);
    expect(await undo(accountId)).toBe('spent');
    expect((await ledgerOf(sql, accountId)).used).toBe(1);
  });
});

test('a call that the allowance pays, raised since others took purchased credits, gives none of those back', async () => {
  const { accountId } = await createCaller(sql, { included: 10, credits: 10 });
  const credits = createCredits(sql);
  await admitMany(credits, accountId, 15);
  await changeLimits(sql, accountId, { includedCredits: 100 }, 'test');
  await moveJournal(sql);
  await admit(credits, accountId);
  const attempt = { id: await attemptOf(accountId), calls: { [accountId]: 1 }, deadline: OVER };
  expect(await undoAttempt(sql, attempt)).toBe('spent');
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 15, credits: 5, calls: 15 });
});

test('an attempt that is being moved is found where it goes, and undone once', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  await moveJournal(sql);
  await createCredits(sql).admit({ accountId, keyId: 'a', kind: 'search' });
  const attempt = { id: await attemptOf(accountId), calls: { [accountId]: 1 }, deadline: OVER };
  let undoing: Promise<string> | undefined;
  await sql.begin(async (moving) => {
    await moveJournal(moving as unknown as Sql);
    undoing = undoAttempt(sql, attempt);
    await Bun.sleep(100);
  });
  expect(await undoing).toBe('spent');
  expect(await undoAttempt(sql, attempt)).toBe('nothing');
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
});

test('what an attempt came to is not known before its deadline, nor while it holds its accounts', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  const attempt = { id: randomUUID(), calls: { [accountId]: 1 } };
  const soon = new Date(Date.now() + 60_000);
  expect(await undoAttempt(sql, { ...attempt, deadline: soon })).toBe('early');
  let undoing: Promise<string> | undefined;
  await sql.begin(async (spending) => {
    await spending`UPDATE balances SET used = 1 WHERE account_id = ${accountId}`;
    undoing = undoAttempt(sql, { ...attempt, deadline: OVER });
    await Bun.sleep(100);
    await spending`
      INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls)
      VALUES (${attempt.id}, now(), ${[accountId]}::text[], '{a}', '{search}', '{1}')`;
  });
  expect(await undoing).toBe('spent');
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
});

test('a statement that waits for an account past its deadline spends nothing, where it was said that it will not', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  const byKey = connectPostgres(database.url, { max: 1, byKey: true });
  try {
    const bounds = { deadline: new Date(Date.now() + 300), instant: null, attempt: randomUUID() };
    const attempt = { id: bounds.attempt, calls: { [accountId]: 1 }, deadline: bounds.deadline };
    let undoing: Promise<string> | undefined;
    let spending: Promise<Payment> | undefined;
    await sql.begin(async (operator) => {
      await operator`SELECT 1 FROM balances WHERE account_id = ${accountId} FOR UPDATE`;
      // In this order they get the lock when it is free: after the deadline.
      undoing = undoAttempt(sql, attempt);
      await Bun.sleep(100);
      spending = spendIfPayable(byKey, [{ accountId, keyId: '', kind: 'search', calls: 1 }], bounds);
      await Bun.sleep(300);
    });
    expect(await undoing).toBe('nothing');
    expect((await spending)?.unpaid).toEqual(new Set([accountId]));
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
  } finally {
    await byKey.end();
  }
});

test('moved by several at once, in small steps, while calls come in: each call is counted once', async () => {
  const callers = await Promise.all(Array.from({ length: 5 }, () => createCaller(sql, { included: 1000 })));
  const credits = createCredits(sql);
  let spending = true;
  const movers = Array.from({ length: 3 }, async () => {
    while (spending) await moveJournal(sql, 2);
  });
  for (let round = 0; round < 40; round += 1) {
    await Promise.all(
      callers.map(({ accountId }) => credits.admit({ accountId, keyId: 'a', kind: 'lookup' })),
    );
    // As a reader sees it in the middle of all that.
    for (const { accountId } of callers) expect((await ledgerOf(sql, accountId)).calls).toBe(round + 1);
  }
  spending = false;
  await Promise.all(movers);
  await moveJournal(sql);
  for (const { accountId } of callers) {
    expect(await callsOf('daily_calls', accountId)).toEqual([{ key: 'a', kind: 'lookup', calls: 40 }]);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 40, credits: 0, calls: 40 });
  }
});
