import { describe, expect, test } from 'bun:test';
import { requireAccount } from '../../../src/metering/accounts/account-store.ts';
import { createCredits } from '../../../src/metering/credits/charge.ts';
import { createCaller } from '../../support/service.ts';
import { inOneTurn } from '../../support/stopped-clock.ts';
import { createAccountAt, createClockedDatabase, createTestClock } from '../accounts/account-at.ts';
import { chargeMany, chargeOne } from './ledger.ts';

const sql = await createClockedDatabase('credits');
const credits = createCredits(sql);

const shown = async (id: string) => {
  const { plan, used, credits, includedCredits, period } = await requireAccount(sql, id);
  return { plan, used, credits, includedCredits, end: period.end.toISOString() };
};

describe('one credit a call', () => {
  test('calls are counted by day, key and kind as they are charged, and refused ones are not', async () => {
    const clock = await createTestClock(sql, '2026-03-31T23:59:59.900Z');
    const periodStart = new Date('2026-03-20T00:00:00Z');
    const id = await createAccountAt(sql, clock.now(), { plan: 'plus', included: 3, periodStart });
    const call = async (keyId: string, kind: 'search' | 'lookup') =>
      (await credits.charge({ accountId: id, keyId, kind, credits: 1 })).spent;
    const first = await Promise.all([call('key_a', 'search'), call('key_b', 'lookup')]);
    await clock.set('2026-04-01T00:00:00Z');
    const second = await Promise.all([call('key_b', 'search'), call('key_b', 'search')]);
    expect([...first, ...second]).toEqual([1, 1, 1, 0]);
    const rows = await sql`
      SELECT day::text, key_id, kind, calls FROM calls_by_day WHERE account_id = ${id} ORDER BY day, key_id, kind`;
    expect(rows.map((row) => ({ ...row }))).toEqual([
      { day: '2026-03-31', key_id: 'key_a', kind: 'search', calls: 1 },
      { day: '2026-03-31', key_id: 'key_b', kind: 'lookup', calls: 1 },
      { day: '2026-04-01', key_id: 'key_b', kind: 'search', calls: 1 },
    ]);
  });

  test('an account that does not exist is an error, not a charge', async () => {
    await expect(chargeOne(credits, 'acc_none')).rejects.toThrow('the account is locked, or gone');
  });
});

test('a refusal says the allowance, when the next one begins, and the whole seconds until then', async () => {
  const clock = await createTestClock(sql, '2026-02-28T12:00:00.001Z');
  const periodStart = new Date('2026-01-31T12:00:00Z');
  const id = await createAccountAt(sql, clock.now(), { plan: 'plus', included: 0, periodStart });
  for (const [at, resetAt, retryAfterS] of [
    ['2026-02-28T12:00:00.001Z', '2026-03-31T12:00:00+00:00', 31 * 24 * 3600],
    ['2026-03-31T11:59:58.500Z', '2026-03-31T12:00:00+00:00', 2],
    ['2026-03-31T11:59:59.999Z', '2026-03-31T12:00:00+00:00', 1],
    ['2026-03-31T12:00:00Z', '2026-04-30T12:00:00+00:00', 30 * 24 * 3600],
  ] as const) {
    await clock.set(at);
    expect(await chargeOne(credits, id)).toEqual({ charged: false, limit: 0, resetAt, retryAfterS });
  }
});

test('refusals until the end of a period name that end, however close it is', async () => {
  const callers = await Promise.all(Array.from({ length: 20 }, () => createCaller(sql, { included: 1 })));
  const resets = callers.map(async ({ accountId }) => {
    await chargeOne(credits, accountId);
    const [row] = await sql<{ end: string }[]>`
      UPDATE balances SET period_end = clock_timestamp() + interval '0.2 s' WHERE account_id = ${accountId}
      RETURNING to_jsonb(period_end) #>> '{}' AS end`;
    const answers = [await chargeOne(credits, accountId)];
    while (!answers.at(-1)!.charged) answers.push(await chargeOne(credits, accountId));
    return answers
      .slice(0, -1)
      .filter(({ resetAt, retryAfterS }) => resetAt !== row!.end || retryAfterS !== 1);
  });
  expect((await Promise.all(resets)).flat()).toEqual([]);
});

describe('periods roll over by themselves', () => {
  test('the first charge after a boundary opens the next period with one credit used', async () => {
    const clock = await createTestClock(sql, '2026-01-31T10:00:00Z');
    const terms = { plan: 'plus', included: 2, periodStart: clock.now() } as const;
    const id = await createAccountAt(sql, clock.now(), terms);
    expect(await chargeMany(credits, id, 3)).toEqual({ charged: 2, refused: 1, failed: 0 });
    await clock.set('2026-02-28T09:59:59.999Z');
    expect((await chargeOne(credits, id)).charged).toBe(false);
    await clock.set('2026-02-28T10:00:00Z');
    expect((await shown(id)).used).toBe(0); // before any charge
    expect((await chargeOne(credits, id)).charged).toBe(true);
    expect(await shown(id)).toMatchObject({ used: 1, end: '2026-03-31T10:00:00.000Z' });
    // Periods in which nothing happened are skipped.
    await clock.set('2026-08-31T10:00:00Z');
    expect(await shown(id)).toMatchObject({ used: 0, end: '2026-09-30T10:00:00.000Z' });
    expect(await chargeMany(credits, id, 3)).toEqual({ charged: 2, refused: 1, failed: 0 });
    expect(await shown(id)).toMatchObject({ used: 2, end: '2026-09-30T10:00:00.000Z' });
  });

  test('from the lapse on the account is Free: a new period, nothing used, the Free allowance', async () => {
    const clock = await createTestClock(sql, '2026-02-20T05:59:59.999Z');
    const id = await createAccountAt(sql, clock.now(), {
      plan: 'plus',
      periodStart: new Date('2026-01-10T00:00:00Z'),
      until: new Date('2026-02-20T06:00:00Z'),
    });
    // Batches that wait for each other, however slow Postgres is.
    const charged = await inOneTurn(() => chargeMany(credits, id, 1252));
    expect(charged).toEqual({ charged: 1250, refused: 2, failed: 0 });
    expect(await chargeOne(credits, id)).toMatchObject({ limit: 1250, retryAfterS: 1 });
    await clock.set('2026-02-20T06:00:00Z');
    const lapsed = { plan: 'free', includedCredits: 500, end: '2026-03-01T00:00:00.000Z' };
    expect(await shown(id)).toMatchObject({ ...lapsed, used: 0 });
    expect(await chargeMany(credits, id, 501)).toEqual({ charged: 500, refused: 1, failed: 0 });
    expect(await shown(id)).toMatchObject({ ...lapsed, used: 500 });
    await clock.set('2026-03-01T00:00:00Z');
    expect((await chargeOne(credits, id)).charged).toBe(true);
  });

  test('a charge that Postgres begins before the boundary does not bring the old period back', async () => {
    const clock = await createTestClock(sql, '2026-07-01T00:00:00Z');
    const id = await createAccountAt(sql, new Date('2026-06-15T00:00:00Z'), { plan: 'free', included: 5 });
    await chargeOne(credits, id);
    await clock.set('2026-06-30T23:59:59.999Z');
    await chargeOne(credits, id);
    await clock.set('2026-07-01T00:00:01Z');
    expect(await shown(id)).toMatchObject({ used: 2, end: '2026-08-01T00:00:00.000Z' });
  });
});
