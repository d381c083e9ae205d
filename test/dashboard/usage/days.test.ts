/** Ranges of days and past months: calls and errors, as a page and as a CSV. */
import { afterAll, expect, test } from 'bun:test';
import { daysOfMonth, monthBefore, rangeOf } from '../../../src/dashboard/usage/range.ts';
import { storeCallCounts } from '../../support/counts.ts';
import { startDashboardService } from '../service.ts';
import { createMember, type PageAnswer } from '../visitor.ts';

const service = await startDashboardService();
afterAll(() => service.stop());

const TODAY = new Date().toISOString().slice(0, 10);
const LAST_MONTH = daysOfMonth(monthBefore(TODAY, 1));

/** The links to past months. */
const months = ({ document }: PageAnswer) =>
  [...document.querySelectorAll('.days li a')]
    .map((link) => link.getAttribute('href')!)
    .filter((address) => /days=\d{4}-/.test(address));
const csvLink = ({ document }: PageAnswer) => document.querySelector('[download]')!.getAttribute('href')!;

test('the month of a day is whole, over the ends of years and in February', () => {
  expect(daysOfMonth('2026-11')).toEqual({ from: '2026-11-01', to: '2026-11-30' });
  expect(daysOfMonth(monthBefore('2026-01-31', 1))).toEqual({ from: '2025-12-01', to: '2025-12-31' });
  expect(daysOfMonth(monthBefore('2028-03-31', 1))).toEqual({ from: '2028-02-01', to: '2028-02-29' });
});

test('a range that is none is 90 days', () => {
  const range = (query: string) => rangeOf(new URL(`http://x/?${query}`));
  expect(['days=7', 'days=30', 'days=period', 'days=2026-11'].map(range)).toEqual([
    7,
    30,
    'period',
    '2026-11',
  ]);
  for (const query of ['', 'days=', 'days=8', 'days=2026-13', 'days=2026-00', 'days=1026-01', "days='"])
    expect(range(query)).toBe(90);
});

test('last month is one link away, with its calls and a CSV of the same days', async () => {
  const { visitor, accountId } = await createMember(service);
  expect(months(await visitor.get('/dashboard'))).toEqual([]);
  const { from, to } = LAST_MONTH;
  for (const [day, calls] of [
    [daysOfMonth(monthBefore(TODAY, 2)).to, 3],
    [from, 40],
    [to, 7],
    [TODAY, 500],
  ] as const)
    await storeCallCounts(service.sql, service.sql`VALUES (${accountId}, ${day}, '', 'search', ${calls})`);

  const overview = await visitor.get('/dashboard');
  expect(overview.textOf('.days summary')).toBe('Days shown: 90 days');
  const month = (ago: number) => `/dashboard?days=${monthBefore(TODAY, ago)}#calls`;
  expect(months(overview)).toEqual([month(1), month(2)]);
  const before = month(1);
  const page = await visitor.get(before);
  expect([page.status, page.textOf('[data-figure=plotted]')]).toEqual([200, '47 credits']);
  const name = new Date(from).toLocaleString('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });
  expect([page.textOf('.days summary'), page.textOf('.days a[aria-current]')]).toEqual([
    `Days shown: ${name}`,
    name,
  ]);
  const lines = (await visitor.get(csvLink(page))).text.split('\r\n').slice(1, -1);
  expect(lines.map((line) => line.split(',')[0])).toEqual([`"${from}"`, `"${to}"`]);
  // The other language keeps the days.
  const kept = [...page.document.querySelectorAll('footer a')].map((link) => link.getAttribute('href')!);
  expect(kept.filter((address) => address.includes(`days=${monthBefore(TODAY, 1)}`))).toHaveLength(1);
  const portuguese = await visitor.get(before, { 'Accept-Language': 'pt' });
  expect(portuguese.textOf('#calls .lead')).toMatch(/^47 créditos · de 1 .+ a \d+ .+, dias em UTC$/);
});

test('a month without calls says so', async () => {
  const { visitor } = await createMember(service);
  const none = await visitor.get('/dashboard?days=2020-01');
  expect([none.status, none.textOf('.empty')]).toEqual([200, 'No credits spent on these days']);
});
