import { afterAll, describe, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import type { Call } from '../../../src/metering/credits/call.ts';
import { createCredits } from '../../../src/metering/credits/charge.ts';
import { refundCredits, refundOwed } from '../../../src/metering/credits/refund.ts';
import { purgeJournal, rollUpCalls } from '../../../src/metering/credits/rollup.ts';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';
import { startProxy } from '../../support/proxy.ts';
import { createCaller } from '../../support/service.ts';
import { inOneTurn } from '../../support/stopped-clock.ts';
import { attemptsOf, ledgerOf } from './ledger.ts';

const database = await createTestDatabase('give_back');
const sql = database.sql;
afterAll(() => database.drop());

/** Charges so many calls in one batch. @returns refunds one of them */
async function charge(accountId: string, count: number) {
  let onAcknowledged = () => {};
  const credits = createCredits(sql, { onEvent: (event) => event === 'refunded' && onAcknowledged() });
  const charges = await inOneTurn(() =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        credits.charge({ accountId, keyId: `key${index % 2}`, kind: 'lookup', credits: 1 }),
      ),
    ),
  );
  expect(await attemptsOf(sql, accountId)).toHaveLength(1);
  return async (index: number) => {
    const acknowledged = new Promise<void>((resolve) => {
      onAcknowledged = resolve;
    });
    charges[index]!.refund(1);
    await acknowledged;
    await refundOwed(sql);
  };
}

describe.each([
  ['before the roll-up has counted it', async () => {}],
  ['after the roll-up has counted it', async () => void (await rollUpCalls(sql))],
])('a call that is refunded %s', (_, wait) => {
  test('brings its credit and its call back, purchased credits first, the others of its batch untouched', async () => {
    const { accountId } = await createCaller(sql, { included: 1, credits: 5 });
    const refund = await charge(accountId, 3);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 3, credits: 3, calls: 3 });
    await wait();
    const left = [
      { used: 2, credits: 4, calls: 2 },
      { used: 1, credits: 5, calls: 1 },
      { used: 0, credits: 5, calls: 0 },
    ];
    for (const [index, ledger] of left.entries()) {
      await refund(index);
      expect(await ledgerOf(sql, accountId)).toEqual(ledger);
    }
    await rollUpCalls(sql);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 5, calls: 0 });
  });

  test('comes back no second time when the journal has forgotten it, because its batch is forgotten, too', async () => {
    const { accountId } = await createCaller(sql, { included: 10 });
    await charge(accountId, 2);
    const [attempt] = await attemptsOf(sql, accountId);
    const id = randomUUID();
    const call = { accountId, keyId: 'key0', kind: 'lookup', credits: 1 } as const;
    const send = () => refundCredits(sql, [{ ...call, id, attempt: attempt!, purchased: 0 }]);
    await wait();
    await send();
    await refundOwed(sql);
    await rollUpCalls(sql);
    await sql`UPDATE call_journal SET spent_at = spent_at - interval '11 minutes' WHERE attempt IN (${attempt!}, ${id})`;
    await purgeJournal(sql);
    await send();
    await refundOwed(sql);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 1, credits: 0, calls: 1 });
  });
});

test('refunds that come at once are stored 500 at a time, and paid out together', async () => {
  const callers = await Promise.all(Array.from({ length: 3 }, () => createCaller(sql, { included: 500 })));
  const credits = createCredits(sql);
  const call = (_: unknown, index: number): Call => {
    const { accountId, keyId } = callers[index % 3]!;
    return { accountId, keyId, kind: 'lookup', credits: 1 };
  };
  const charges = await Promise.all(Array.from({ length: 600 }, call).map(credits.charge));
  await inOneTurn(() => Promise.all(charges.map(({ refund }) => refund(1))));
  const refunded =
    await sql`SELECT attempt, xmin::text AS statement FROM call_journal WHERE owed AND account_ids <> '{}'`;
  expect(refunded).toHaveLength(600);
  expect(new Set(refunded.map(({ statement }) => statement)).size).toBe(2);
  await refundOwed(sql);
  const paid = await sql`
    SELECT DISTINCT xmin::text FROM call_journal WHERE attempt = ANY (${refunded.map(({ attempt }) => attempt)}::uuid[])`;
  expect(paid).toHaveLength(1);
  for (const { accountId } of callers)
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
});

test('a refund ends when it is stored, or after 2 s; then it is stored later', async () => {
  const proxy = await startProxy(database.url);
  const pool = connectPostgres(proxy.url(database.url), { max: 2 });
  const { accountId, keyId } = await createCaller(sql, { included: 10 });
  const credits = createCredits(pool);
  const charge = () => credits.charge({ accountId, keyId, kind: 'lookup', credits: 1 });
  const [stored, late] = [await charge(), await charge()];
  const rows = async () =>
    (await sql`SELECT FROM call_journal WHERE owed AND account_ids[1] = ${accountId}`).length;
  await stored.refund(1);
  expect(await rows()).toBe(1);
  proxy.hang();
  await late.refund(1);
  expect(await rows()).toBe(1);
  proxy.up();
  await credits.close(5000);
  expect(await rows()).toBe(2);
  await pool.end({ timeout: 1 });
  await proxy.close();
});

test('a refund after the service has closed its ledger is reported', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  const lost: unknown[] = [];
  const credits = createCredits(sql, { onLost: (owed) => void lost.push(...owed.values()) });
  const charge = await credits.charge({ accountId, keyId: 'a', kind: 'lookup', credits: 3 });
  await credits.close(1000);
  await charge.refund(2);
  expect(lost).toEqual([[{ accountId, keyId: 'a', kind: 'lookup', credits: 2 }]]);
});

test('what is still owed when the service stops is reported', async () => {
  const proxy = await startProxy(database.url);
  const pool = connectPostgres(proxy.url(database.url), { max: 2, statementTimeoutMs: 1000 });
  const { accountId } = await createCaller(sql, { included: 10 });
  const lost: unknown[] = [];
  const credits = createCredits(pool, { onLost: (owed) => void lost.push(...owed.values()) });
  const call = { accountId, keyId: 'a', kind: 'lookup' as const, credits: 1 };
  const charge = await credits.charge(call);
  proxy.down();
  for (let i = 0; i < 2; i += 1) void charge.refund(1);
  await credits.close(300);
  expect(lost).toEqual([[{ ...call, credits: 1 }], [{ ...call, credits: 1 }]]);
  await pool.end({ timeout: 1 });
  await proxy.close();
});
