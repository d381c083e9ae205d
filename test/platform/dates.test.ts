import { expect, test } from 'bun:test';
import { isRealDate } from '../../src/platform/dates.ts';

test('a date is a day of the calendar', () => {
  expect(['2024-02-29', '2026-12-31'].map(isRealDate)).toEqual([true, true]);
  expect(['2026-02-29', '2026-1-1', '2026-02-31', '20260101', '0000-01-01', ''].some(isRealDate)).toBe(false);
});
