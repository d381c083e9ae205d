/** Past months and chosen days: calls and errors, as a page and as a CSV. */
import { afterAll, expect, test } from 'bun:test';
import { monthOf, rangeOf } from '../../../src/dashboard/usage/range.ts';
import { startDashboardService } from '../service.ts';
import { createMember, type PageAnswer } from '../visitor.ts';

const service = await startDashboardService();
afterAll(() => service.stop());

const TODAY = new Date().toISOString().slice(0, 10);
const LAST_MONTH = monthOf(TODAY, -1);

/** The links to past months. */
const months = ({ document }: PageAnswer) =>
  [...document.querySelectorAll('.days li a')]
    .map((link) => link.getAttribute('href')!)
    .filter((address) => address.includes('from='));
const csvLink = ({ document }: PageAnswer) => document.querySelector('[download]')!.getAttribute('href')!;

test('the month of a day is whole, over the ends of years and in February', () => {
  expect(monthOf('2026-11-23')).toEqual({ from: '2026-11-01', to: '2026-11-30' });
  expect(monthOf('2026-01-31', -1)).toEqual({ from: '2025-12-01', to: '2025-12-31' });
  expect(monthOf('2028-01-31', 1)).toEqual({ from: '2028-02-01', to: '2028-02-29' });
});

test('chosen days are two real days, in order and at most a year apart', () => {
  const chosen = (query: string) => rangeOf(new URL(`http://x/?${query}`));
  expect(chosen('days=7')).toBe(7);
  expect(chosen('')).toBe(90);
  expect(chosen('from=2026-11-05&to=2026-11-05')).toEqual({ from: '2026-11-05', to: '2026-11-05' });
  expect(chosen('from=2025-11-05&to=2026-11-05')).toEqual({ from: '2025-11-05', to: '2026-11-05' });
  for (const query of [
    'from=2026-11-05',
    'to=2026-11-05',
    'from=2026-11-05&to=2026-11-04',
    'from=2025-11-05&to=2026-11-06',
    'from=2026-02-29&to=2026-03-01',
    "from=1&to='",
  ])
    expect(chosen(query)).toBe('invalid');
});

test('last month is one link away, with its calls, its errors and a CSV of the same days', async () => {
  const { visitor, accountId } = await createMember(service);
  expect(months(await visitor.get('/dashboard'))).toEqual([]);
  const { from, to } = LAST_MONTH;
  for (const [day, calls] of [
    [monthOf(TODAY, -2).to, 3],
    [from, 40],
    [to, 7],
    [TODAY, 500],
  ] as const)
    await service.sql`INSERT INTO daily_calls VALUES (${accountId}, ${day}, '', 'search', ${calls})`;
  await service.sql`
    INSERT INTO daily_error_answers (account_id, day, key_id, kind, calls)
    VALUES (${accountId}, ${to}, '', '4xx', 5), (${accountId}, ${TODAY}, '', '4xx', 60)`;

  const overview = await visitor.get('/dashboard');
  expect(overview.textOf('.days summary')).toBe('Days shown: 90 days');
  const month = (later: number) =>
    `/dashboard?${new URLSearchParams({ by: 'kind', ...monthOf(TODAY, later) })}#calls`;
  expect(months(overview)).toEqual([month(-1), month(-2)]);
  const before = month(-1);
  const page = await visitor.get(before);
  expect([page.status, page.textOf('[data-figure=plotted]')]).toEqual([200, '47 credits']);
  expect(page.textOf('#errors .legend')).toBe('Not valid, not found or expired (400, 404, 410) 5');
  const name = new Date(from).toLocaleString('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });
  expect([page.textOf('.days summary'), page.textOf('.days a[aria-current]')]).toEqual([
    `Days shown: ${name}`,
    name,
  ]);
  const lines = (await visitor.get(csvLink(page))).text.split('\r\n').slice(1, -1);
  expect(lines.map((line) => line.split(',')[0])).toEqual([`"${from}"`, `"${to}"`]);
  // The other split, the form and the other language keep the days.
  const kept = [...page.document.querySelectorAll('.tabs a, footer a')].map(
    (link) => link.getAttribute('href')!,
  );
  expect(
    kept.filter((address) => address.includes(`from=${from}`) && address.includes(`to=${to}`)),
  ).toHaveLength(3);
  expect(page.document.querySelector('.days input[name=by]')!.getAttribute('value')).toBe('kind');
  const portuguese = await visitor.get(before, { 'Accept-Language': 'pt' });
  expect(portuguese.textOf('#calls .lead')).toMatch(/^47 créditos · de 1 .+ a \d+ .+, dias em UTC$/);
});

test('days without calls say so, and days that make no sense are a fault at the form', async () => {
  const { visitor } = await createMember(service);
  const none = await visitor.get('/dashboard?from=2020-01-01&to=2020-01-31');
  expect([none.status, none.textOf('.empty')]).toEqual([200, 'No credits spent on these days']);
  const wrong = '?from=2026-11-05&to=2026-11-04';
  const page = await visitor.get(`/dashboard${wrong}`);
  expect([page.status, page.textOf('.days [role=alert]')]).toEqual([
    422,
    'Choose a first and a last day, at most a year apart.',
  ]);
  expect((await visitor.get(`/dashboard/usage.csv${wrong}`)).status).toBe(422);
});
