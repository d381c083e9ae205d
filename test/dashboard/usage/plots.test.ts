/** Ranges of days and past months: calls and errors, as a page and as a CSV. */
import { afterAll, expect, test } from 'bun:test';
import {
  type DailyRow,
  dailyRows,
  daysOf,
  loadDailyCalls,
} from '../../../src/dashboard/usage/daily-calls.ts';
import { daysOfMonth, monthBefore, rangeOf } from '../../../src/dashboard/usage/range.ts';
import { createAccount } from '../../../src/metering/accounts/account-store.ts';
import { createKey } from '../../../src/metering/keys/key-store.ts';
import { storeCallCounts, storeCostlyErrorCounts, storeErrorCounts } from '../../support/counts.ts';
import { createTestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/until.ts';
import { startDashboardService } from '../service.ts';
import { createMember, createMemberWithKey, type PageAnswer } from '../visitor.ts';

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

test('a key without errors has no section about them', async () => {
  const { visitor, id } = await createMemberWithKey(service);
  expect((await visitor.get(`/dashboard/keys/${id}`)).textOf('#errors')).toBeNull();
});

test('errors of a key in 30 days are summed by kind, listed by day, and stand beside the calls in the CSV', async () => {
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
  expect(totalsOf(page)).toEqual({
    'Too many requests in a minute (429)': '3',
    'No credits left (429)': '4',
    'Limits of a key (403, 429)': '5',
    'Not valid, not found or expired (400, 404, 410)': '1,200',
    'Failed here (500 to 503)': '2',
    credits: '1,201',
  });
  expect([...page.document.querySelectorAll('#errors .plot title')].map((bar) => bar.textContent)).toEqual([
    expect.stringMatching(/: 2\nFailed here \(500 to 503\): 2$/),
    expect.stringMatching(
      /: 1,212\nToo many requests in a minute \(429\): 3\nNo credits left \(429\): 4\nLimits of a key \(403, 429\): 5\nNot valid/,
    ),
  ]);
  const rows = [...page.document.querySelectorAll('#errors tbody tr')].map((row) => [
    row.querySelector('time')!.getAttribute('datetime'),
    ...[...row.querySelectorAll('td')].map((cell) => cell.textContent),
  ]);
  expect(rows).toEqual([
    [today, '3', '4', '5', '1,200', '0', '1,212'],
    [first, '0', '0', '0', '0', '2', '2'],
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
  const shown = async () => totalsOf(await visitor.get(`/dashboard/keys/${id}`));
  await eventually(shown, {
    'Not valid, not found or expired (400, 404, 410)': '3',
    credits: '3',
  });
});

/** The errors of a key's page by the names of their kinds, and the credits that they cost. */
function totalsOf({ document, textOf }: PageAnswer): Record<string, string | null> {
  const kinds = [...document.querySelectorAll('#errors .legend li')].map((kind) => [
    kind.querySelector('span')!.textContent,
    kind.querySelector('strong')!.textContent,
  ]);
  return { ...Object.fromEntries(kinds), credits: textOf('[data-errors=credits]') };
}

test('the plots have the sums over thousands of keys, the page of a key its own, and the CSV each', async () => {
  const { sql, drop } = await createTestDatabase('daily-calls');
  const { id } = await createAccount(sql, { name: 'Test', plan: 'plus' }, 'test');
  // Key n has n calls a day, and every key an error on the last day, keys 2 and 3 another one.
  await storeCallCounts(
    sql,
    sql`
      SELECT ${id}::text, (now() AT TIME ZONE 'UTC')::date - day, 'key_' || n, CASE WHEN n = 3000 THEN 'debts' ELSE 'search' END, n
      FROM generate_series(0, 9) AS day, generate_series(1, 3000) AS n`,
  );
  await storeErrorCounts(
    sql,
    sql`
      SELECT ${id}::text, (now() AT TIME ZONE 'UTC')::date, 'key_' || n, '4xx', CASE WHEN n IN (2, 3) THEN 2 ELSE 1 END
      FROM generate_series(1, 3000) AS n`,
  );
  const account = { id, period: { start: new Date() } };
  const load = async (ofKey?: string) => {
    const { rows, from, to } = await loadDailyCalls(sql, account, 7, ofKey);
    expect(Date.parse(to) - Date.parse(from)).toBe(6 * 86_400_000);
    const sum = (of: (row: (typeof rows)[number]) => number) =>
      rows.reduce((total, row) => total + of(row), 0);
    return [rows.length, sum((row) => row.search + row.debts), sum((row) => row['4xx'])];
  };
  const calls = 7 * ((3000 * 3001) / 2);
  expect(await load()).toEqual([7, calls, 3002]);
  expect(await load('key_7')).toEqual([7, 49, 1]);
  const parts: DailyRow[][] = [];
  const days = await daysOf(sql, account, 7);
  await sql.begin(async (sql) => {
    for await (const rows of dailyRows(sql, account, days)) parts.push(rows);
  });
  const all = parts.flat();
  expect([all.length, new Set(all.map(({ day, keyId }) => `${day} ${keyId}`)).size]).toEqual([
    7 * 3000,
    7 * 3000,
  ]);
  expect(all.map(({ day }) => day)).toEqual(all.map(({ day }) => day).toSorted());
  expect(all.reduce((sum, row) => sum + row.search + row.debts, 0)).toBe(calls);
  expect(parts.every(({ length }) => length <= 200)).toBe(true);
  await drop();
});
