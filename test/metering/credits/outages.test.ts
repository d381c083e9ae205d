/** Charges beside a row that is locked, a process that is busy, one that is killed, and others that lock the same rows. */
import { afterAll, describe, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createCredits } from '../../../src/metering/credits/charge.ts';
import { chargeBatch, chargeCalls } from '../../../src/metering/credits/charge-batch.ts';
import { refundOwed } from '../../../src/metering/credits/refund.ts';
import { rollUpCalls } from '../../../src/metering/credits/rollup.ts';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';
import { cancelWaiting, lockRow, waitingForLock } from '../../support/locks.ts';
import { startProxy } from '../../support/proxy.ts';
import { createCaller } from '../../support/service.ts';
import { eventually } from '../../support/until.ts';
import { chargeOne, ledgerOf } from './ledger.ts';

const database = await createTestDatabase('processes');
const sql = database.sql;
const impatient = connectPostgres(database.url, { max: 5, lockTimeoutMs: 1000 });
const credits = createCredits(impatient);
afterAll(async () => {
  await impatient.end();
  await database.drop();
});

/** Whether the call fails. */
const fails = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => false,
    () => true,
  );

test('a row that another transaction has locked fails further calls at once: a wait for each would take longer than a test may', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  const lock = await lockRow(sql, accountId);
  for (let call = 0; call < 50; call += 1) expect(await fails(chargeOne(credits, accountId))).toBe(true);
  await lock.release();
  await eventually(() => fails(chargeOne(credits, accountId)), false);
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 1, credits: 0, calls: 1 });
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
    expect(await ledgerOf(sql, locked.accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
    for (const { accountId } of others) {
      expect(await ledgerOf(sql, accountId)).toEqual({ used: 1, credits: 0, calls: 1 });
    }
  },
);

describe('a process that is killed when Postgres has charged its batch, but the answer is lost,', () => {
  /** A process whose batch of three credits is charged, and which can reach Postgres only by a new connection. */
  async function chargedUnheard() {
    const { accountId } = await createCaller(sql, { included: 2, credits: 5 });
    const proxy = await startProxy(database.url);
    const lock = await lockRow(sql, accountId);
    const script = join(import.meta.dir, 'charge-in-process.ts');
    const spender = Bun.spawn([process.execPath, script, proxy.url(database.url), accountId], {
      stdout: 'pipe',
    });
    await waitingForLock(sql, 1);
    proxy.mute();
    await lock.release();
    await eventually(async () => (await ledgerOf(sql, accountId)).used, 3);
    const kill = async () => {
      spender.kill('SIGKILL');
      await spender.exited;
      await proxy.close();
    };
    return { accountId, stdout: spender.stdout, kill };
  }

  test('after its void was acknowledged: any other process refunds the credits', async () => {
    const { accountId, stdout, kill } = await chargedUnheard();
    const { value } = await stdout.getReader().read();
    expect(new TextDecoder().decode(value)).toBe('voided\n');
    await kill();
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 3, credits: 4, calls: 3 });
    await rollUpCalls(sql);
    await refundOwed(sql);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 5, calls: 0 });
  });

  test('before it could void it: that one batch stays charged, and its calls are counted', async () => {
    const { accountId, stdout, kill } = await chargedUnheard();
    await kill();
    expect(await new Response(stdout).text()).toBe('');
    await refundOwed(sql);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 3, credits: 4, calls: 3 });
  });
});

test.each([2, 400])('of %d accounts, a few asked for in opposite orders are locked in one', async (count) => {
  const pools = [1, 2].map(() => connectPostgres(database.url, { max: 1, pointQueries: true }));
  try {
    const ids = (
      await Promise.all(Array.from({ length: count }, () => createCaller(sql, { included: 1000 })))
    ).map(({ accountId }) => accountId);
    // Statistics let the planner choose another plan for a small table than for a large one. Neither may change the order of locks.
    await sql`ANALYZE counters`;
    const few = ids.slice(0, 40);
    const both = [few, few.toReversed()].map((order, instance) => async () => {
      const pool = pools[instance]!;
      for (let round = 0; round < 100; round += 1) {
        const calls = order.map((accountId) => ({
          accountId,
          keyId: '',
          kind: 'search' as const,
          credits: 1,
        }));
        // A statement of either kind meets both.
        const [charged] =
          (round + instance) % 3 === 0
            ? await chargeCalls(pool, calls, randomUUID())
            : await chargeBatch(pool, calls, randomUUID(), async (work) => work);
        expect(charged).toMatchObject({ purchased: null });
        expect(charged!.spent ?? order.map(() => 1)).toEqual(order.map(() => 1));
      }
    });
    // If two statements deadlock, Postgres fails one of them after a second, and this throws.
    await Promise.all(both.map((spend) => spend()));
  } finally {
    await Promise.all(pools.map((pool) => pool.end({ timeout: 5 })));
  }
});
