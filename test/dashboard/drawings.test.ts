import { afterAll, beforeAll, expect, test } from 'bun:test';
import { html } from '../../src/dashboard/ui/html.ts';
import { createDrawings, type Drawing } from '../../src/dashboard/usage/drawings.ts';
import type { TestService } from '../support/service.ts';
import { startDashboardService, storeCalls } from './service.ts';
import { createVisitor, signUp } from './visitor.ts';

let service: TestService;
beforeAll(async () => {
  service = await startDashboardService();
});
afterAll(() => service.stop());

function setUp() {
  let nowMs = 0;
  let drawn = 0;
  const drawings = createDrawings(() => nowMs);
  const draw = async (): Promise<Drawing> => {
    drawn += 1;
    return { wide: html`${drawn}`, narrow: html`` };
  };
  return { drawings, draw, drawn: () => drawn, pass: (ms: number) => (nowMs += ms) };
}

test('one key is drawn once in 30 seconds, also when many ask at once', async () => {
  const { drawings, draw, drawn, pass } = setUp();
  const seen = await Promise.all(Array.from({ length: 20 }, () => drawings('a', draw)));
  expect(new Set(seen).size).toBe(1);
  pass(29_999);
  await drawings('a', draw);
  expect(drawn()).toBe(1);
  await drawings('b', draw);
  expect(drawn()).toBe(2);
  pass(1);
  await drawings('a', draw);
  expect(drawn()).toBe(3);
});

test('a drawing that failed is not kept', async () => {
  const { drawings, draw } = setUp();
  await expect(drawings('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect((await drawings('a', draw)).wide.markup).toBe('1');
});

test('at most 50 drawings are kept, the latest', async () => {
  const { drawings, draw, drawn } = setUp();
  for (let key = 0; key < 51; key += 1) await drawings(String(key), draw);
  for (let key = 1; key < 51; key += 1) await drawings(String(key), draw);
  expect(drawn()).toBe(51);
  await drawings('0', draw);
  expect(drawn()).toBe(52);
});

test('within 30 seconds the plot stays as it was drawn; figures and table are current', async () => {
  const visitor = createVisitor(service.baseUrl);
  const { accountId } = await signUp(visitor);
  const store = (daysAgo: number) =>
    storeCalls(service.sql, accountId, [{ daysAgo, keyId: '', kind: 'search', calls: 5 }]);
  const look = async (query = '') => {
    const page = await visitor.get(`/dashboard${query}`);
    return {
      plotted: page.textOf('[data-figure=plotted]'),
      rows: page.document.querySelectorAll('table.numbers tbody tr').length,
      bars: page.document.querySelectorAll('.plot-wide rect title').length,
    };
  };
  await store(1);
  expect(await look()).toEqual({ plotted: '5 calls', rows: 1, bars: 1 });
  await store(2);
  expect(await look()).toEqual({ plotted: '10 calls', rows: 2, bars: 1 });
  // Other series have a plot of their own.
  expect(await look('?by=key')).toEqual({ plotted: '10 calls', rows: 2, bars: 2 });
});
