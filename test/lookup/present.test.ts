import { expect, test } from 'bun:test';
import { httpDate } from '../../src/lookup/present.ts';

test("a time of Postgres is written as HTTP's headers have it, as Date writes it, however many days there are", () => {
  expect(httpDate('2026-11-20 10:00:00.123456+00')).toBe('Fri, 20 Nov 2026 10:00:00 GMT');
  const startMs = Date.UTC(2023, 11, 1, 23, 59, 58);
  for (let day = 0; day < 500; day += 1) {
    const date = new Date(startMs + day * 86_400_000 + day);
    const text = date.toISOString().replace('T', ' ').replace('Z', '+00');
    expect(httpDate(text)).toBe(date.toUTCString());
    expect(httpDate(text.slice(0, 19))).toBe(date.toUTCString());
  }
});
