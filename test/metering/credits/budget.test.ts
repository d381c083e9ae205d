/** Budgets of keys are exact (docs/members.md: limits of a key). */
import { describe, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import type { Call } from '../../../src/metering/credits/call.ts';
import { chargeCalls } from '../../../src/metering/credits/charge-batch.ts';
import { refundOwed } from '../../../src/metering/credits/refund.ts';
import { createKey, listKeys } from '../../../src/metering/keys/key-store.ts';
import { limitKey, settleBudgets } from '../../../src/metering/keys/limit-key.ts';
import type { Budget, BudgetPeriod } from '../../../src/metering/keys/limits.ts';
import { lockRow, waitingForLock } from '../../support/locks.ts';
import { createCaller } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { attemptsOf, chargeKeyed, givingBack, ledgerOf, startLedgers } from './ledger.ts';

const { sql, pools, one, other, impatient } = await startLedgers('budget');

interface Limited {
  accountId: string;
  keyId: string;
}

async function createLimited(budget: Budget, { included = 100, credits = 0 } = {}): Promise<Limited> {
  const { accountId, keyId } = await createCaller(sql, { included, credits, plan: 'plus' });
  await limitKey(sql, keyId, { budget }, 'test');
  return { accountId, keyId };
}

const createSecondKey = async (key: Limited): Promise<Limited> => ({
  ...{ accountId: key.accountId, keyId: (await createKey(sql, key.accountId, '', 'test')).id },
});

const call = ({ accountId, keyId }: Limited, credits: number, more: Partial<Call> = {}): Call => ({
  ...{ accountId, keyId, credits, kind: 'lookup', hasBudget: true },
  ...more,
});

/** The credits that the key's budget has counted, and those that the account has used. */
async function usedOf({ accountId, keyId }: Limited): Promise<[key: number | undefined, account: number]> {
  const keys = await listKeys(sql, accountId);
  return [keys.find(({ id }) => id === keyId)?.budget?.used, (await ledgerOf(sql, accountId)).used];
}

test('a call that did not know the budget counts beside one that did, so that its refund takes back what was counted', async () => {
  const key = await createLimited({ credits: 100, per: 'ever' });
  const both = [call(key, 3), call(key, 2, { hasBudget: false })];
  const [, unaware] = await Promise.all(both.map((each) => one.charge(each)));
  expect(await usedOf(key)).toEqual([5, 5]);
  await unaware!.refund(2);
  await refundOwed(sql);
  expect(await usedOf(key)).toEqual([3, 3]);
});

test('of two equal bounds of a list the account refuses', async () => {
  for (const credits of [5, 0]) {
    const key = await createLimited({ credits, per: 'ever' }, { included: credits });
    const charge = await one.charge(call(key, 10));
    expect(charge).toMatchObject({ spent: credits, reason: { limit: credits } });
  }
});

test.each(givingBack(sql))(
  'what comes back by %s after the window comes back to the account alone',
  async (_, giveBack) => {
    const key = await createLimited({ credits: 10, per: 'day' });
    const charge = await one.charge(call(key, 3));
    // The next window begins before the refund is paid out.
    await giveBack(charge, (await attemptsOf(sql, key.accountId))[0]!);
    await sql`UPDATE call_journal SET at = at - interval '1 day' WHERE ${key.keyId} = ANY (key_ids)`;
    await sql`UPDATE key_budgets SET window_start = window_start - interval '1 day' WHERE key_id = ${key.keyId}`;
    await one.charge(call(key, 4));
    await refundOwed(sql);
    expect(await usedOf(key)).toEqual([4, 4]);
  },
);

describe('a window', () => {
  const move = (keyId: string, interval: string) =>
    sql`UPDATE key_budgets SET window_start = window_start + ${interval}::interval WHERE key_id = ${keyId}`;

  test.each<[BudgetPeriod, number]>([
    ['day', 5],
    ['month', 5],
    ['ever', 0],
  ])('of %s is followed by one with a whole budget, unless it is ever: %p credits', async (per, next) => {
    const key = await createLimited({ credits: 5, per });
    await one.charge(call(key, 5));
    if (per !== 'ever') await move(key.keyId, `-1 ${per}`);
    expect((await usedOf(key))[0]).toBe(per === 'ever' ? 5 : 0);
    expect((await one.charge(call(key, 7))).spent).toBe(next);
    expect((await usedOf(key))[0]).toBe(5);
  });

  test('never moves back, and counts the calls of a clock that does', async () => {
    const key = await createLimited({ credits: 5, per: 'day' });
    await move(key.keyId, '1 day');
    await one.charge(call(key, 2));
    expect((await one.charge(call(key, 9))).spent).toBe(3);
    const [row] = await sql`
      SELECT min(at) >= max(window_start) AS "isInWindow" FROM call_journal, key_budgets
      WHERE ${key.keyId} = ANY (key_ids) AND key_id = ${key.keyId}`;
    expect(row!.isInWindow).toBe(true);
  });

  test('of each key of a batch holds the time of the batch, also if one was turned while the batch waited', async () => {
    const keys = [
      await createLimited({ credits: 5, per: 'day' }),
      await createLimited({ credits: 5, per: 'day' }),
    ];
    const ids = keys.map(({ keyId }) => keyId);
    await sql`UPDATE key_budgets SET per = 'second' WHERE key_id = ANY (${ids}::text[])`;
    const lock = await lockRow(sql, keys[0]!.accountId);
    const attempt = randomUUID();
    const charged = chargeCalls(
      pools[0]!,
      keys.map((key) => call(key, 1)),
      attempt,
    ).then(() => {});
    await waitingForLock(sql, 1);
    // As another process does after the turn of a second.
    const turned = () => sql`
      UPDATE key_budgets SET window_start = budget_window(per, clock_timestamp()), used = 0
      WHERE key_id = ${ids[0]!} AND budget_window(per, clock_timestamp()) > (
        SELECT min(query_start) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')
      RETURNING key_id`;
    await until('the next second', async () => (await turned()).length === 1);
    await lock.release();
    await charged;
    const windows = await sql`
      SELECT window_start = budget_window(per, at) AS "isItsTime" FROM call_journal, key_budgets
      WHERE attempt = ${attempt} AND key_id = ANY (${ids}::text[])`;
    expect(windows.map(({ isItsTime }) => isItsTime)).toEqual([true, true]);
  });
});

describe('a keyed request', () => {
  test('that is sent with two keys at once is charged to one of them, once', async () => {
    const key = await createLimited({ credits: 5, per: 'month' });
    const second = await createSecondKey(key);
    await limitKey(sql, second.keyId, { budget: { credits: 5, per: 'month' } }, 'test');
    const identity = randomUUID();
    const lock = await lockRow(sql, key.accountId);
    const sendings = [
      chargeKeyed(one, call(key, 5), identity),
      chargeKeyed(other, call(second, 5), identity),
    ];
    await waitingForLock(sql, 1);
    await lock.release();
    for (const { spent, reason } of await Promise.all(sendings)) expect([spent, reason]).toEqual([5, null]);
    const used = [(await usedOf(key))[0], (await usedOf(second))[0]];
    expect(used.sort()).toEqual([0, 5]);
    expect((await ledgerOf(sql, key.accountId)).used).toBe(5);
  });

  test('whose budget sufficed for a part is refused by this budget again while the key has it, but not by another key', async () => {
    const key = await createLimited({ credits: 3, per: 'ever' });
    const second = await createSecondKey(key);
    const identity = randomUUID();
    for (const sender of [key, second, key]) {
      const reason = sender === key ? { credits: 3, per: 'ever' } : null;
      expect(await chargeKeyed(one, call(sender, 5), identity)).toMatchObject({ spent: 3, reason });
    }
    expect(await usedOf(key)).toEqual([3, 3]);
    await limitKey(sql, key.keyId, { budget: null }, 'test');
    expect(await chargeKeyed(one, call(key, 5), identity)).toMatchObject({ spent: 3, reason: null });
  });
});

describe('a change of a budget', () => {
  test('counts what comes back of an earlier charge, and nothing of one that it did not count', async () => {
    const key = await createCaller(sql, { included: 100 });
    const before = await one.charge(call(key, 5, { hasBudget: false }));
    await limitKey(sql, key.keyId, { budget: { credits: 20, per: 'month' } }, 'test');
    // Of an instance whose cached caller had no budget yet.
    const stale = await one.charge(call(key, 5, { hasBudget: false }));
    expect(await usedOf(key)).toEqual([5, 10]);
    await before.refund(2);
    await stale.refund(5);
    await refundOwed(sql);
    expect(await usedOf(key)).toEqual([3, 3]);
  });

  test('counts the calls that did not know it yet, once none of them is under way any more', async () => {
    const key = await createCaller(sql, { included: 100 });
    await limitKey(sql, key.keyId, { budget: { credits: 20, per: 'month' } }, 'test');
    const stale = await one.charge(call(key, 5, { hasBudget: false }));
    await one.charge(call(key, 3));
    await settleBudgets(sql);
    expect(await usedOf(key)).toEqual([3, 8]);
    const settled = await sql`
      UPDATE key_budgets SET settles_at = settles_at - interval '40 seconds' WHERE settles_at IS NOT NULL RETURNING key_id`;
    expect(settled.map(({ key_id }) => key_id)).toContain(key.keyId);
    const lock = await lockRow(sql, key.accountId);
    const settling = Promise.all(pools.map((pool) => settleBudgets(pool)));
    await waitingForLock(sql, 2);
    await lock.release();
    await settling;
    expect(await usedOf(key)).toEqual([8, 8]);
    // It can come back, and further changes of the budget are exact at once.
    await stale.refund(5);
    await refundOwed(sql);
    expect(await usedOf(key)).toEqual([3, 3]);
    await limitKey(sql, key.keyId, { budget: { credits: 4, per: 'month' } }, 'test');
    expect(
      await sql`SELECT FROM key_budgets WHERE key_id = ${key.keyId} AND settles_at IS NOT NULL`,
    ).toHaveLength(0);
  });

  test('counts the calls that did not know it the next time if its account is locked, and those of other accounts now', async () => {
    const keys = await Promise.all([1, 2].map(() => createCaller(sql, { included: 100 })));
    for (const key of keys) {
      await limitKey(sql, key.keyId, { budget: { credits: 20, per: 'month' } }, 'test');
      await one.charge(call(key, 5, { hasBudget: false }));
    }
    await sql`UPDATE key_budgets SET settles_at = settles_at - interval '40 seconds' WHERE settles_at IS NOT NULL`;
    const lock = await lockRow(sql, keys[0]!.accountId);
    await settleBudgets(impatient);
    const used = () => Promise.all(keys.map(usedOf));
    expect(await used()).toEqual([
      [0, 5],
      [5, 5],
    ]);
    await lock.release();
    await settleBudgets(sql);
    expect((await used())[0]).toEqual([5, 5]);
  });

  test('is seen by a charge and a refund that began before it and waited for the balance, also if it is the first', async () => {
    const key = await createCaller(sql, { included: 100 });
    await (await one.charge(call(key, 5, { hasBudget: false }))).refund(2);
    const lock = await lockRow(sql, key.accountId);
    const limiting = limitKey(sql, key.keyId, { budget: { credits: 8, per: 'month' } }, 'test');
    await waitingForLock(sql, 1);
    const waiting = [other.charge(call(key, 9)).then(({ spent }) => spent), refundOwed(sql)] as const;
    await waitingForLock(sql, 3);
    await lock.release();
    const [spent] = await Promise.all([...waiting, limiting]);
    // The refund comes before the charge or after it.
    expect([3, 5]).toContain(spent as number);
    expect(await usedOf(key)).toEqual([3 + (spent as number), 3 + (spent as number)]);
  });
});
