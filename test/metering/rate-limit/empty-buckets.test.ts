import { expect, test } from 'bun:test';
import { createEmptyBuckets } from '../../../src/metering/rate-limit/empty-buckets.ts';

const NOW_US = Date.UTC(2026, 0, 1) * 1000;

const emptyOf = (limit: number) => ({ units: 0, atUs: NOW_US, limit });

function refusalsAt(startMs: number) {
  const clock = { nowMs: startMs };
  return { clock, refusals: createEmptyBuckets(() => clock.nowMs) };
}

test('a refusal ends when the token is due, counted from the question', () => {
  const { clock, refusals } = refusalsAt(1000);
  refusals.remember('a', emptyOf(60), 900); // a token a second
  expect(refusals.find([{ id: 'a', limit: 60 }])).toEqual({
    taken: false,
    limit: 60,
    remaining: 0,
    waitUs: 900_000,
    nowUs: NOW_US + 100_000,
  });
  clock.nowMs = 1899;
  expect(refusals.find([{ id: 'a', limit: 60 }])).toMatchObject({ waitUs: 1000, nowUs: NOW_US + 999_000 });
  clock.nowMs = 1900;
  expect(refusals.find([{ id: 'a', limit: 60 }])).toBeNull();
});

test('Redis is asked again after five seconds, however far away the token is', () => {
  const { clock, refusals } = refusalsAt(0);
  refusals.remember('a', emptyOf(1), 0); // a token a minute
  clock.nowMs = 4999;
  expect(refusals.find([{ id: 'a', limit: 1 }])).toMatchObject({ waitUs: 55_001_000 });
  clock.nowMs = 5000;
  expect(refusals.find([{ id: 'a', limit: 1 }])).toBeNull();
});

test('a caller with another limit, and another account, are asked about', () => {
  const { refusals } = refusalsAt(0);
  refusals.remember('a', emptyOf(20), 0);
  expect(refusals.find([{ id: 'b', limit: 20 }])).toBeNull();
  expect(refusals.find([{ id: 'a', limit: 60 }])).toBeNull();
});
