import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { createCredits } from '../../src/credits/admit.ts';
import { createOwed, type Lost, type Owed } from '../../src/credits/owed.ts';
import { connectPostgres, type Sql } from '../../src/postgres/connect.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import { createCaller } from '../support/service.ts';
import { until } from '../support/until.ts';
import { admit, ledgerOf } from './ledger.ts';

let database: TestDatabase;
let proxy: TcpProxy;
let sql: Sql;
beforeAll(async () => {
  database = await createTestDatabase('owed');
  sql = database.sql;
  const { hostname, port } = new URL(database.url);
  proxy = await startProxy({ host: hostname, port: Number(port) });
});
afterAll(async () => {
  await proxy.close();
  await database.drop();
});

let behindProxy: Sql;
let owed: Owed;
let lost: Lost[];
let nowMs: number;
beforeEach(() => {
  lost = [];
  nowMs = 1000;
  behindProxy = connectPostgres(proxy.url(database.url), {
    max: 3,
    statementTimeoutMs: 5000,
    lockTimeoutMs: 500,
  });
  owed = createOwed(
    behindProxy,
    (what) => lost.push(what),
    () => nowMs,
  );
});
afterEach(async () => {
  proxy.up();
  await owed.close();
  await behindProxy.end({ timeout: 1 });
});

/** An account that one statement has spent a credit of. */
async function spentOnce() {
  const { accountId } = await createCaller(sql, { included: 10 });
  await admit(createCredits(sql), accountId);
  const [entry] = await sql<{ attempt: string; instant: string; spentAt: string }[]>`
    SELECT attempt, at::text AS instant, spent_at::text AS "spentAt" FROM call_journal WHERE ${accountId} = ANY (account_ids)`;
  const attempt = { id: entry!.attempt, calls: { [accountId]: 1 }, deadline: new Date(Date.now() - 1000) };
  const asks = [{ accountId, keyId: '', kind: 'search' as const, calls: 1 }];
  const { instant, spentAt } = entry!;
  return { accountId, attempt, asks, spent: { accountId, fromPurchased: 0, instant, spentAt } };
}

async function usedOf(accountId: string): Promise<number> {
  return (await ledgerOf(sql, accountId)).used;
}

/** Waits until nothing of the account is spent. */
function givenBack(accountId: string): Promise<void> {
  return until('the credits', async () => (await usedOf(accountId)) === 0, 8000);
}

for (const fault of ['down', 'hang'] as const) {
  test(`what is owed while Postgres is away (${fault}) is given back once when it is there again`, async () => {
    await behindProxy`SELECT 1`;
    const [late, lostAnswer] = [await spentOnce(), await spentOnce()];
    proxy[fault]();
    owed.giveBack(late.asks, late.spent);
    owed.undo(lostAnswer.attempt);
    await Bun.sleep(1500);
    proxy.up();
    for (const { accountId } of [late, lostAnswer]) await givenBack(accountId);
    await Bun.sleep(1500);
    for (const { accountId } of [late, lostAnswer]) {
      expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
    }
    expect(lost).toEqual([]);
  });
}

test('one account that somebody has locked keeps nobody else from getting theirs back', async () => {
  const [locked, other] = [await spentOnce(), await spentOnce()];
  await sql.begin(async (holding) => {
    await holding`SELECT 1 FROM balances WHERE account_id = ${locked.accountId} FOR UPDATE`;
    owed.giveBack(locked.asks, locked.spent);
    owed.giveBack(other.asks, other.spent);
    await givenBack(other.accountId);
    expect(await usedOf(locked.accountId)).toBe(1);
  });
  await givenBack(locked.accountId);
});

test('what can not be given back for five minutes is told, once each', async () => {
  const { accountId, asks, spent, attempt } = await spentOnce();
  proxy.down();
  owed.giveBack(asks, spent);
  owed.undo(attempt);
  nowMs += 299_000;
  await Bun.sleep(1500);
  expect(lost).toEqual([]);
  nowMs += 2000;
  await until('both losses', () => lost.length === 2, 8000);
  const calls = { [accountId]: 1 };
  expect(lost).toEqual([
    { attempt: null, calls },
    { attempt: attempt.id, calls },
  ]);
});

test('an attempt that is looked for when it would have been forgotten is told: nobody can know any more', async () => {
  const { accountId } = await createCaller(sql);
  proxy.down();
  owed.undo({ id: randomUUID(), calls: { [accountId]: 1 }, deadline: new Date(Date.now() - 1000) });
  await Bun.sleep(100);
  nowMs += 301_000;
  proxy.up();
  await until('the loss', () => lost.length === 1, 8000);
  expect(lost[0]!.calls).toEqual({ [accountId]: 1 });
});

test('a stop while Postgres is away is bounded, and tells what is lost', async () => {
  const { accountId, asks, spent } = await spentOnce();
  await behindProxy`SELECT 1`;
  proxy.hang();
  owed.giveBack(asks, spent);
  const startedAt = performance.now();
  await owed.close();
  expect(performance.now() - startedAt).toBeLessThan(5500);
  expect(lost).toEqual([{ attempt: null, calls: { [accountId]: 1 } }]);
});
