import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { type Credits, createCredits } from '../../../src/metering/credits/charge.ts';
import { refundOwed } from '../../../src/metering/credits/refund.ts';
import { rollUpCalls } from '../../../src/metering/credits/rollup.ts';
import { connectPostgres, type Sql } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';
import { cancelWaiting, lockRow, waitingForLock } from '../../support/locks.ts';
import { startProxy } from '../../support/proxy.ts';
import { createCaller } from '../../support/service.ts';
import { eventually } from '../../support/until.ts';
import { chargeOne, ledgerOf } from './ledger.ts';

/** The pool that charges, through the proxy, with the time-outs that the service has. */
let behindProxy: Sql;
let credits: Credits;
let lost: unknown[];
/** The refunds that begin as soon as a void is acknowledged. */
let refunding: Promise<void>;

const database = await createTestDatabase('deadlines');
/** The test's own pool, beside the proxy. */
const sql = database.sql;
const proxy = await startProxy(database.url);
beforeEach(async () => {
  lost = [];
  refunding = Promise.resolve();
  behindProxy = connectPostgres(proxy.url(database.url), {
    max: 5,
    statementTimeoutMs: 5000,
    lockTimeoutMs: 1000,
  });
  credits = createCredits(behindProxy, {
    onEvent: (event) => {
      if (event === 'voided') refunding = refundOwed(sql);
    },
    onLost: (owed) => lost.push(...owed.values()),
  });
});
afterEach(async () => {
  proxy.up();
  await credits.close(5000);
  await refunding;
  await behindProxy.end({ timeout: 1 });
});
afterAll(async () => {
  await proxy.close();
  await database.drop();
});

/** Whether the call fails. */
const fails = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => false,
    () => true,
  );

/** `count` calls of a new account and one of each other: Postgres commits them, and freezes before it answers. */
async function commitUnheard(count: number, ...others: string[]) {
  const { accountId } = await createCaller(sql, { included: 3, credits: 5 });
  const lock = await lockRow(sql, accountId);
  const accounts = [...Array<string>(count).fill(accountId), ...others];
  const calls = accounts.map((account) => fails(chargeOne(credits, account)));
  await waitingForLock(sql, 1);
  proxy.hang();
  await lock.release();
  const purchased = Math.max(0, count - 3);
  await eventually(() => ledgerOf(sql, accountId), { used: count, credits: 5 - purchased, calls: count });
  return { accountId, calls };
}

/** An account that has spent a credit. The service lost the answer with its connection, and Postgres is down afterwards. */
async function spentUnheard(): Promise<string> {
  const { accountId, calls } = await commitUnheard(1);
  proxy.down();
  expect(await Promise.all(calls)).toEqual([true]);
  return accountId;
}

const NOTHING_SPENT = { used: 0, credits: 0, calls: 0 };

describe('a frozen Postgres', () => {
  test('fails every call within about 2 s, and none is charged when it thaws', async () => {
    const { accountId } = await createCaller(sql, { included: 100 });
    await behindProxy`SELECT 1`;
    proxy.hang();
    const calls = await Promise.all(Array.from({ length: 50 }, () => fails(chargeOne(credits, accountId))));
    for (const failed of calls) expect(failed).toBe(true);
    proxy.up();
    // The service recovers by itself. If the batch that was held back is charged at the thaw, its credits are refunded.
    await eventually(() => fails(chargeOne(credits, accountId)), false);
    await refunding;
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 1, credits: 0, calls: 1 });
  });

  test.each([
    ['', false],
    [', when the calls were moved meanwhile', true],
  ])(
    'that commits, and whose answer is lost with the connection: the credits are refunded%s',
    async (_, isMoved) => {
      const bystander = await createCaller(sql, { included: 10 });
      const { accountId, calls } = await commitUnheard(5, bystander.accountId);
      if (isMoved) await rollUpCalls(sql);
      proxy.down();
      for (const failed of await Promise.all(calls)) expect(failed).toBe(true);
      // Nothing is lost while Postgres stays away, and nobody is charged.
      await expect(chargeOne(credits, accountId)).rejects.toThrow(
        'the outcome of an earlier charge is unknown',
      );
      proxy.up();
      await eventually(() => ledgerOf(sql, accountId), { used: 0, credits: 5, calls: 0 });
      await eventually(() => ledgerOf(sql, bystander.accountId), NOTHING_SPENT);
      await rollUpCalls(sql);
      expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 5, calls: 0 });
      expect(lost).toEqual([]);
      expect((await chargeOne(credits, accountId)).charged).toBe(true);
      await refunding;
      await rollUpCalls(sql);
      expect(await ledgerOf(sql, accountId)).toEqual({ used: 1, credits: 5, calls: 1 });
    },
  );

  test('whose connection is cut while it works, and that stays away: a stop says once that credits may be lost', async () => {
    const accountId = await spentUnheard();
    expect(lost).toEqual([]);
    await credits.close(1000);
    expect(lost).toEqual([[expect.objectContaining({ accountId, credits: 1 })]]);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 1, credits: 5, calls: 1 });
  });
});

describe('a row that another transaction has locked', () => {
  test('fails further calls at once: a wait for each would take longer than a test may', async () => {
    const { accountId } = await createCaller(sql, { included: 10 });
    const lock = await lockRow(sql, accountId);
    for (let call = 0; call < 50; call += 1) expect(await fails(chargeOne(credits, accountId))).toBe(true);
    await lock.release();
    await eventually(() => fails(chargeOne(credits, accountId)), false);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 1, credits: 0, calls: 1 });
  });
});

test('a process that was busy while its answer lay there charges the next calls', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  const single = connectPostgres(database.url, { max: 1 });
  try {
    const credits = createCredits(single);
    await chargeOne(credits, accountId); // from here on the statement is prepared, and sent in one piece
    const delayed = fails(chargeOne(credits, accountId));
    for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    Bun.sleepSync(2500);
    await delayed;
    expect(await fails(chargeOne(credits, accountId))).toBe(false);
    expect(await fails(chargeOne(credits, accountId))).toBe(false);
  } finally {
    await single.end({ timeout: 1 });
  }
});

test.each([
  ['runs out', async () => {}],
  ['ends as a "user request"', () => cancelWaiting(sql)],
])(
  'an account whose row is locked holds up nobody else of its batch when the wait %s, and is not charged',
  async (_, endWait) => {
    const locked = await createCaller(sql, { included: 100 });
    const others = await Promise.all(Array.from({ length: 20 }, () => createCaller(sql, { included: 100 })));
    const lock = await lockRow(sql, locked.accountId);
    try {
      const refused = fails(chargeOne(credits, locked.accountId));
      const charging = Promise.all(others.map(({ accountId }) => chargeOne(credits, accountId)));
      await endWait();
      const charged = await charging;
      expect(charged.map(({ charged }) => charged)).toEqual(others.map(() => true));
      expect(await refused).toBe(true);
    } finally {
      await lock.release();
    }
    expect(await ledgerOf(sql, locked.accountId)).toEqual(NOTHING_SPENT);
    for (const { accountId } of others) {
      expect(await ledgerOf(sql, accountId)).toEqual({ used: 1, credits: 0, calls: 1 });
    }
  },
);
