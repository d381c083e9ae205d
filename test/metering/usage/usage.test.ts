import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createAccountReader } from '../../../src/metering/accounts/reader.ts';
import { createCredits } from '../../../src/metering/credits/charge.ts';
import { createKey, revokeKey } from '../../../src/metering/keys/key-store.ts';
import { createKeyReader } from '../../../src/metering/usage/key-route.ts';
import { createUsageHandler } from '../../../src/metering/usage/usage-route.ts';
import type { UsageAnswer } from '../../../src/metering/usage/usage-schema.ts';
import type { Sql } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { CALLER, runHandler } from '../../support/handler.ts';
import {
  createAccountAt,
  createTestClock,
  installTestClock,
  releaseTestClock,
} from '../accounts/account-at.ts';
import { chargeMany } from '../credits/ledger.ts';

describe('the usage object', () => {
  let database: TestDatabase;
  let sql: Sql;
  beforeAll(async () => {
    database = await createTestDatabase('usage');
    await installTestClock(database.url);
    sql = database.sql;
  });
  afterAll(() => database.drop());

  async function usageAt(accountId: string, at: string): Promise<UsageAnswer['data']> {
    const handler = createUsageHandler(
      createAccountReader(sql, () => new Date(at)),
      createKeyReader(sql),
    );
    const caller = { ...CALLER, accountId };
    const answer = await runHandler(handler, {}, { caller });
    if (!answer.ok) throw new Error(answer.problem.kind);
    return (JSON.parse(answer.json) as UsageAnswer).data;
  }

  const plus = (periodStart: string, until?: string) => ({
    plan: 'plus' as const,
    periodStart: new Date(periodStart),
    until: until === undefined ? undefined : new Date(until),
  });

  test('whole, to the letter', async () => {
    const id = await createAccountAt(sql, new Date('2026-01-31T12:00:00Z'), plus('2026-01-31T12:00:00Z'));
    expect(await usageAt(id, '2026-02-10T00:00:00Z')).toEqual({
      plan: 'plus',
      credits: 0,
      left: 1250,
      key_left: null,
      spendPurchased: true,
      resetAt: '2026-02-28T12:00:00.000Z',
      rateLimit: { limit: 60, remaining: 41 },
      period: { start: '2026-01-31', end: '2026-02-28' },
      quotas: {
        requests: { used: 0, limit: 1250, unit: 'calls' },
        apiKeys: { used: 0, limit: null, unit: 'keys' },
      },
    });
  });

  test('a period that ends in the middle of a day is labelled with that day, one that ends at midnight with the day before', async () => {
    const midDay = await createAccountAt(sql, new Date('2026-03-15T15:30:00Z'), plus('2026-03-15T15:30:00Z'));
    expect(await usageAt(midDay, '2026-04-15T15:29:59.999Z')).toMatchObject({
      period: { start: '2026-03-15', end: '2026-04-15' },
      resetAt: '2026-04-15T15:30:00.000Z',
    });
    expect((await usageAt(midDay, '2026-04-15T15:30:00Z')).period).toEqual({
      start: '2026-04-15',
      end: '2026-05-15',
    });
    const midnight = await createAccountAt(
      sql,
      new Date('2026-03-15T00:00:00Z'),
      plus('2026-03-15T00:00:00Z'),
    );
    expect(await usageAt(midnight, '2026-04-14T23:59:59.999Z')).toMatchObject({
      period: { start: '2026-03-15', end: '2026-04-14' },
      resetAt: '2026-04-15T00:00:00.000Z',
    });
    const justAfter = await createAccountAt(
      sql,
      new Date('2026-03-15T00:00:00.001Z'),
      plus('2026-03-15T00:00:00.001Z'),
    );
    expect((await usageAt(justAfter, '2026-03-20T00:00:00Z')).period.end).toBe('2026-04-15');
  });

  test('Free periods are labelled with the first and the last day of the month, December and leap February included', async () => {
    const id = await createAccountAt(sql, new Date('2023-12-05T00:00:00Z'), { plan: 'free' });
    for (const [at, start, end] of [
      ['2023-12-31T23:59:59.999Z', '2023-12-01', '2023-12-31'],
      ['2024-01-01T00:00:00Z', '2024-01-01', '2024-01-31'],
      ['2024-02-10T00:00:00Z', '2024-02-01', '2024-02-29'],
    ] as const) {
      expect(await usageAt(id, at)).toMatchObject({ plan: 'free', period: { start, end } });
    }
  });

  test('after a boundary `used` is 0 before anything is charged, and the lapsed subscription is Free', async () => {
    const id = await createAccountAt(
      sql,
      new Date('2026-02-10T00:00:00Z'),
      plus('2026-01-10T00:00:00Z', '2026-02-20T06:00:00Z'),
    );
    await createTestClock(sql, '2026-02-15T00:00:00Z');
    await chargeMany(createCredits(sql), id, 3);
    await releaseTestClock(sql);
    expect(await usageAt(id, '2026-02-20T05:59:59.999Z')).toMatchObject({
      plan: 'plus',
      resetAt: '2026-02-20T06:00:00.000Z',
      period: { start: '2026-02-10', end: '2026-02-20' },
      quotas: { requests: { used: 3, limit: 1250 }, apiKeys: { limit: null } },
    });
    expect(await usageAt(id, '2026-02-20T06:00:00Z')).toMatchObject({
      plan: 'free',
      resetAt: '2026-03-01T00:00:00.000Z',
      period: { start: '2026-02-20', end: '2026-02-28' },
      quotas: { requests: { used: 0, limit: 500 }, apiKeys: { limit: 2 } },
    });
  });

  test('counts keys that are not revoked', async () => {
    const id = await createAccountAt(sql, new Date('2026-03-05T00:00:00Z'), { plan: 'free' });
    const keysOf = async () => (await usageAt(id, '2999-01-01T00:00:00Z')).quotas.apiKeys;
    const key = await createKey(sql, id, '', 'test');
    expect(await keysOf()).toEqual({ used: 1, limit: 2, unit: 'keys' });
    await revokeKey(sql, key.id, 'test');
    expect((await keysOf()).used).toBe(0);
  });
});
