/** Ranges of days and past months: calls and errors, as a page and as a CSV. */
import { afterAll, expect, test } from 'bun:test';
import { daysOfMonth, monthBefore, rangeOf } from '../../../src/dashboard/usage/range.ts';
import { createKey } from '../../../src/metering/keys/key-store.ts';
import { storeCallCounts, storeCostlyErrorCounts } from '../../support/counts.ts';
import { eventually } from '../../support/until.ts';
import { startDashboardService } from '../service.ts';
import { createMember, createMemberWithKey, type PageAnswer } from '../visitor.ts';

const service = await startDashboardService();
afterAll(() => service.stop());

const TODAY = new Date().toISOString().slice(0, 10);
const LAST_MONTH = daysOfMonth(monthBefore(TODAY, 1));

/** The links to past months. */
const months = ({ linksOf }: PageAnswer) =>
  linksOf('.days li a').filter((address) => /days=\d{4}-/.test(address!));

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
  const lines = (await visitor.get(page.linksOf('[download]')[0]!)).text.split('\r\n').slice(1, -1);
  expect(lines.map((line) => line.split(',')[0])).toEqual([`"${from}"`, `"${to}"`]);
  // The other language keeps the days.
  expect(page.linksOf('[hreflang=pt]')).toEqual([`?lang=pt&days=${monthBefore(TODAY, 1)}`]);
  const portuguese = await visitor.get(before, { 'Accept-Language': 'pt' });
  expect(portuguese.textOf('#calls .lead')).toMatch(/^47 créditos · de 1 .+ a \d+ .+, dias em UTC$/);
});

test('a month without calls says so', async () => {
  const { visitor } = await createMember(service);
  const none = await visitor.get('/dashboard?days=2020-01');
  expect([none.status, none.textOf('.empty')]).toEqual([200, 'No credits spent on these days']);
});

test('calls and errors of a key in 30 days are summed by kind, listed by day, and stand beside each other in the CSV', async () => {
  const { visitor, accountId } = await createMember(service);
  const { id: keyId } = await createKey(service.sql, accountId, 'web', 'test');
  const { sql } = service;
  const [dates] = await sql`SELECT today::text, (today - 29)::text AS first, (today - 30)::text AS before
    FROM (SELECT (now() AT TIME ZONE 'UTC')::date AS today) AS clock`;
  const { today, first, before } = dates!;
  await storeCallCounts(sql, sql`VALUES (${accountId}, ${today}, ${keyId}, 'lookup', 1500)`);
  await storeCostlyErrorCounts(
    sql,
    sql`VALUES
      (${accountId}, ${before}, ${keyId}, '4xx', 99, 99), (${accountId}, ${first}, ${keyId}, '5xx', 2, 1),
      (${accountId}, ${today}, ${keyId}, '4xx', 1200, 1200), (${accountId}, ${today}, ${keyId}, 'rate-limit-exceeded', 3, 0),
      (${accountId}, ${today}, ${keyId}, 'monthly-quota-exceeded', 4, 0), (${accountId}, ${today}, ${keyId}, 'key-limits', 5, 0),
      (${accountId}, ${today}, '', '4xx', 1, 1)`,
  );
  const page = await visitor.get(`/dashboard/keys/${keyId}`);
  expect(page.textsOf('#use .legend li')).toEqual([
    'Lookups 1,500',
    'Too many requests in a minute (429) 3',
    'No credits left (429) 4',
    'Limits of a key (403, 429) 5',
    'Not valid, not found or expired (400, 404, 410) 1,200',
    'Failed here (500 to 503) 2',
  ]);
  expect(page.textsOf('#use .plot title')).toEqual([
    expect.stringMatching(/: 2 Failed here \(500 to 503\): 2$/),
    expect.stringMatching(
      /: 2,712 Lookups: 1,500 Too many requests in a minute \(429\): 3 No credits left \(429\): 4 Limits of a key \(403, 429\): 5 Not valid/,
    ),
  ]);
  expect(
    [...page.document.querySelectorAll('#use tbody time')].map((time) => time.getAttribute('datetime')),
  ).toEqual([today, first]);
  expect(page.cellsOf('#use tbody tr').map(([, ...counts]) => counts)).toEqual([
    ['1,500', '3', '4', '5', '1,200', '0', '2,712'],
    ['0', '0', '0', '0', '0', '2', '2'],
  ]);
  expect(page.textOf('[data-figure=plotted]')).toBe('1,500 credits');
  expect((await visitor.get('/dashboard/usage.csv')).text.split('\r\n').slice(1, -1).toSorted()).toEqual([
    `"${before}","${keyId}","web",0,0,0,0,0,0,0,0,0,99,0,0,99`,
    `"${first}","${keyId}","web",0,0,0,0,0,0,0,0,0,0,2,0,1`,
    `"${today}","","dashboard",0,0,0,0,0,0,0,0,0,1,0,0,1`,
    `"${today}","${keyId}","web",0,0,0,1500,0,1500,3,4,5,1200,0,0,1200`,
  ]);
});

test('a call with an error, alone or in a batch, shows up within seconds; one without a key never', async () => {
  const { visitor, secret: key, id } = await createMemberWithKey(service);
  await fetch(`${service.url}/companies`, { headers: { Authorization: `Bearer ${key}` } });
  await fetch(`${service.url}/companies`);
  await fetch(`${service.url}/lookups`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ nifs: ['1', '2'] }),
  });
  const shown = async () => (await visitor.get(`/dashboard/keys/${id}`)).textsOf('#use .legend li').at(-1);
  await eventually(shown, 'Not valid, not found or expired (400, 404, 410) 3');
});
