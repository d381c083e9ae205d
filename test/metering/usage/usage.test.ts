import { expect, test } from 'bun:test';
import { createAccountReader } from '../../../src/metering/accounts/reader.ts';
import { createCredits } from '../../../src/metering/credits/charge.ts';
import { createKeyReader } from '../../../src/metering/usage/key-route.ts';
import { createUsageHandler } from '../../../src/metering/usage/usage-route.ts';
import type { UsageAnswer } from '../../../src/metering/usage/usage-schema.ts';
import { CALLER, runHandler } from '../../support/handler.ts';
import { createAccountAt, createClockedDatabase, createTestClock } from '../accounts/account-at.ts';
import { chargeMany } from '../credits/ledger.ts';

const sql = await createClockedDatabase('usage');

async function usageAt(accountId: string, at: string): Promise<UsageAnswer['data']> {
  const handler = createUsageHandler({
    readAccount: createAccountReader(sql),
    readKey: createKeyReader(sql),
  });
  await createTestClock(sql, at);
  const answer = await runHandler(handler, {}, { caller: { ...CALLER, accountId } });
  if (!answer.ok) throw new Error(answer.problem.kind);
  return (JSON.parse(answer.json) as UsageAnswer).data;
}

/** A Plus account at an instant of its first period, by default its beginning. */
const createPlus = (periodStart: string, { until, at = periodStart }: { until?: string; at?: string } = {}) =>
  createAccountAt(sql, new Date(at), {
    ...{ plan: 'plus', periodStart: new Date(periodStart) },
    until: until === undefined ? undefined : new Date(until),
  });

test('whole, to the letter', async () => {
  const id = await createPlus('2026-01-31T12:00:00Z');
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

test.each([
  [
    'a period that ends in the middle of a day is labelled with that day',
    () => createPlus('2026-03-15T15:30:00Z'),
    [
      ['2026-04-15T15:29:59.999Z', '2026-03-15', '2026-04-15', '2026-04-15T15:30:00.000Z'],
      ['2026-04-15T15:30:00Z', '2026-04-15', '2026-05-15', '2026-05-15T15:30:00.000Z'],
    ],
  ],
  [
    'a period that ends at midnight is labelled with the day before',
    () => createPlus('2026-03-15T00:00:00Z'),
    [['2026-04-14T23:59:59.999Z', '2026-03-15', '2026-04-14', '2026-04-15T00:00:00.000Z']],
  ],
  [
    'a period that ends just after midnight is labelled with that day',
    () => createPlus('2026-03-15T00:00:00.001Z'),
    [['2026-03-20T00:00:00Z', '2026-03-15', '2026-04-15', '2026-04-15T00:00:00.001Z']],
  ],
  [
    'a period of Free is labelled with the first and the last day of the month, December and leap February included',
    () => createAccountAt(sql, new Date('2023-12-05T00:00:00Z'), { plan: 'free' }),
    [
      ['2023-12-31T23:59:59.999Z', '2023-12-01', '2023-12-31', '2024-01-01T00:00:00.000Z'],
      ['2024-01-01T00:00:00Z', '2024-01-01', '2024-01-31', '2024-02-01T00:00:00.000Z'],
      ['2024-02-10T00:00:00Z', '2024-02-01', '2024-02-29', '2024-03-01T00:00:00.000Z'],
    ],
  ],
])('%s', async (_, create, labels) => {
  const id = await create();
  for (const [at, start, end, resetAt] of labels) {
    const { period, ...usage } = await usageAt(id, at!);
    expect([period, usage.resetAt]).toEqual([{ start: start!, end: end! }, resetAt!]);
  }
});

test('after a boundary `used` is 0 before anything is charged, and the lapsed subscription is Free', async () => {
  const id = await createPlus('2026-01-10T00:00:00Z', {
    ...{ until: '2026-02-20T06:00:00Z', at: '2026-02-10T00:00:00Z' },
  });
  await createTestClock(sql, '2026-02-15T00:00:00Z');
  await chargeMany(createCredits(sql), id, 3);
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
