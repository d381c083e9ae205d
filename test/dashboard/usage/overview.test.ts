import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { formatsOf } from '../../../src/dashboard/ui/language.ts';
import { daysOfMonth, monthBefore, rangeOf } from '../../../src/dashboard/usage/daily-calls.ts';
import { createPace } from '../../../src/dashboard/usage/download.ts';
import { changeLimits, changePlan } from '../../../src/metering/accounts/changes.ts';
import { grantCredits } from '../../../src/metering/accounts/grant.ts';
import { createKey } from '../../../src/metering/keys/key-store.ts';
import { KIB, MINUTE, SECOND } from '../../../src/platform/units.ts';
import { call } from '../../support/client.ts';
import { storeCallCounts, storeCostlyErrorCounts } from '../../support/counts.ts';
import { stopClock } from '../../support/stopped-clock.ts';
import { startDashboardService, storeCalls } from '../service.ts';
import { cookiesOf, createMember, makeKey, type PageAnswer } from '../visitor.ts';

const service = await startDashboardService();
afterAll(() => service.stop());

const day = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);
const figure = (page: PageAnswer, name: string) =>
  Number(page.textOf(`[data-figure=${name}]`)!.replace(/[^\d]/g, ''));

test('the overview agrees exactly with GET /usage: within the allowance, beyond it, and with nothing left', async () => {
  const { visitor, accountId } = await createMember(service);
  const key = await makeKey(visitor);
  await changeLimits(service.sql, accountId, { includedCredits: 3, requestsPerMinute: 1000 }, 'test');
  await grantCredits(service.sql, accountId, { credits: 2 }, 'test');
  for (let calls = 0; calls <= 6; calls += 1) {
    if (calls > 0) await call(service.url, '/companies?q=abaco', { key });
    const { body } = await call(service.url, '/usage', { key });
    const { quotas, credits, resetAt } = body.data;
    const { used, limit } = quotas.requests;
    const page = await visitor.get('/dashboard');
    const shown = ['used', 'plotted', 'credits', 'available', 'keys'].map((name) => figure(page, name));
    const available = Math.max(0, limit - used) + credits;
    expect(shown).toEqual([used, used, credits, available, quotas.apiKeys.used]);
    expect(page.attributesOf('time[datetime*=T]', 'datetime')[0]).toBe(resetAt);
    expect(used).toBe(Math.min(calls, 5));
  }
  expect(await visitor.textAt('/dashboard', 'main')).toContain('2 of them beyond the allowance');
});

test('plot, table and CSV hold the same numbers: 90 days, each kind of calls apart, and by key', async () => {
  const { visitor, accountId } = await createMember(service);
  const first = await createKey(service.sql, accountId, 'first, "the best"', 'test');
  const second = await createKey(service.sql, accountId, 'x;=2+5;', 'test');
  await storeCalls(service.sql, accountId, [
    { daysAgo: 90, keyId: first.id, kind: 'search', calls: 1000 }, // a day too old
    { daysAgo: 89, keyId: first.id, kind: 'search', calls: 7 },
    { daysAgo: 89, keyId: first.id, kind: 'lookup', calls: 3 },
    { daysAgo: 2, keyId: second.id, kind: 'lookup', calls: 40 },
    { daysAgo: 2, kind: 'search', calls: 2 },
    { daysAgo: 2, keyId: second.id, kind: 'debts', calls: 500 },
    { daysAgo: 2, keyId: second.id, kind: 'match', calls: 6 },
    { daysAgo: 0, keyId: first.id, kind: 'search', calls: 1 },
  ]);
  const csv = (await visitor.get('/dashboard/usage.csv')).text;
  expect(csv.split('\r\n')).toEqual([
    '"day","key_id","key_name","searches","matches","resolutions","lookups","debts","credits","rate_limit_exceeded","monthly_quota_exceeded","key_limits","other_4xx","status_5xx","status_401","error_credits"',
    `"${day(89)}","${first.id}","first, ""the best""",7,0,0,3,0,10,0,0,0,0,0,0,0`,
    `"${day(2)}","${second.id}","x;'=2+5;",0,6,0,40,500,546,0,0,0,0,0,0,0`,
    `"${day(2)}","","dashboard",2,0,0,0,0,2,0,0,0,0,0,0,0`,
    `"${day(0)}","${first.id}","first, ""the best""",1,0,0,0,0,1,0,0,0,0,0,0,0`,
    '',
  ]);

  const byKind = await visitor.get('/dashboard');
  expect(figure(byKind, 'plotted')).toBe(559);
  expect(tableOf(byKind)).toEqual([
    ['Day', 'Searches', 'Searches by words', 'Lookups', 'Debt checks', 'Total'],
    [day(0), '1', '0', '0', '0', '1'],
    [day(2), '2', '6', '40', '500', '548'],
    [day(89), '7', '0', '3', '0', '10'],
    ['Total', '10', '6', '43', '500', '559'],
  ]);
  // Without their days: each day's total first.
  expect(byKind.textsOf('.plot title').map((title) => title.replace(/^[^:]+: /, ''))).toEqual([
    '10 Searches: 7 Lookups: 3',
    '548 Searches: 2 Searches by words: 6 Lookups: 40 Debt checks: 500',
    '1 Searches: 1',
  ]);
});

test('the days begin with the first call, and with the days or the period that the reader chooses', async () => {
  const { visitor, accountId } = await createMember(service);
  const look = async (query = '') => {
    const page = await visitor.get(`/dashboard${query}`);
    return {
      days: tableOf(page)
        .slice(1, -1)
        .map(([name]) => name),
      since: /from (\d+ \w+ \d+) to/.exec(page.textOf('#calls .lead')!)![1],
      current: page.textsOf('#calls [aria-current]'),
    };
  };
  const named = (name: string) => formatsOf('en').date(new Date(name));
  const store = (daysAgo: number) =>
    storeCalls(service.sql, accountId, [{ daysAgo, kind: 'search', calls: 5 }]);
  await store(20);
  await store(3);
  expect(await look()).toEqual({ days: [day(3), day(20)], since: named(day(20)), current: ['90 days'] });
  expect(await look('?days=7')).toEqual({ days: [day(3)], since: named(day(6)), current: ['7 days'] });
  const periodStart = new Date(Date.now() - 5 * 86_400_000);
  await changePlan(service.sql, accountId, 'plus', { periodStart }, 'test');
  expect(await look('?days=period')).toMatchObject({ days: [day(3)], since: named(day(5)) });
  expect(await look('?days=1000')).toMatchObject({ days: [day(3), day(20)] });
  // The decoder of a text would drop the BOM.
  const csv = await fetch(`${service.baseUrl}/dashboard/usage.csv?days=7&lang=pt`, {
    headers: { Cookie: cookiesOf(visitor) },
  });
  expect(Buffer.from(await csv.arrayBuffer()).toString()).toBe(
    `\ufeff"day";"key_id";"key_name";"searches";"matches";"resolutions";"lookups";"debts";"credits";"rate_limit_exceeded";"monthly_quota_exceeded";"key_limits";"other_4xx";"status_5xx";"status_401";"error_credits"\r\n"${day(3)}";"";"dashboard";5;0;0;0;0;5;0;0;0;0;0;0;0\r\n`,
  );
});

test('the page with a full plot of 90 days stays under 60 kB, with all that it loads', async () => {
  const { visitor, accountId } = await createMember(service);
  const calls = Array.from({ length: 90 }, (_, daysAgo) =>
    (['search', 'lookup'] as const).map((kind) => ({ daysAgo, kind, calls: 100 + daysAgo })),
  );
  await storeCalls(service.sql, accountId, calls.flat());
  const load = async (path: string) => {
    const response = await fetch(service.baseUrl + path, {
      headers: { Cookie: cookiesOf(visitor), 'Accept-Encoding': 'gzip' },
      decompress: false,
    });
    return { bytes: (await response.arrayBuffer()).byteLength, headers: response.headers };
  };
  const page = await load('/dashboard');
  expect(page.headers.get('content-encoding')).toBe('gzip');
  const { linksOf, attributesOf } = await visitor.get('/dashboard');
  const addresses = [...linksOf('link[href]'), ...attributesOf('script[src]', 'src')];
  expect(addresses.length).toBe(4);
  let total = page.bytes;
  for (const address of addresses) {
    const asset = await load(address!);
    const encoding = address!.includes('woff2') ? null : 'gzip';
    expect([address, asset.headers.get('content-encoding')]).toEqual([address, encoding]);
    expect(asset.headers.get('cache-control')).toContain('immutable');
    total += asset.bytes;
  }
  expect(total).toBeLessThan(60_000);
});

function tableOf({ document }: PageAnswer): string[][] {
  return [...document.querySelectorAll('table.numbers tr')].map((row) =>
    [...row.children].map((cell) => {
      const time = cell.querySelector('time');
      return time?.getAttribute('datetime') ?? cell.textContent!.trim();
    }),
  );
}

const LAST_MONTH = daysOfMonth(monthBefore(day(0), 1));

test('the month of a day is whole, over the ends of years and in February', () => {
  expect(daysOfMonth('2026-11')).toEqual({ from: '2026-11-01', to: '2026-11-30' });
  expect(daysOfMonth(monthBefore('2026-01-31', 1))).toEqual({ from: '2025-12-01', to: '2025-12-31' });
  expect(daysOfMonth(monthBefore('2028-03-31', 1))).toEqual({ from: '2028-02-01', to: '2028-02-29' });
});

test('a range that is none is 90 days', () => {
  const range = (query: string) => rangeOf(new URL(`http://x/?${query}`));
  for (const days of [7, 30, 'period', '2026-11'] as const) expect(range(`days=${days}`)).toBe(days);
  for (const query of ['', 'days=', 'days=8', 'days=2026-13', 'days=2026-00', 'days=1026-01', "days='"])
    expect(range(query)).toBe(90);
});

test('last month is one link away, with its calls and a CSV of the same days', async () => {
  const { visitor, accountId } = await createMember(service);
  const PAST = '.days li a[href*="days=2"]';
  expect((await visitor.get('/dashboard')).linksOf(PAST)).toEqual([]);
  const { from, to } = LAST_MONTH;
  for (const [on, calls] of [
    [daysOfMonth(monthBefore(day(0), 2)).to, 3],
    [from, 40],
    [to, 7],
    [day(0), 500],
  ] as const)
    await storeCallCounts(service.sql, service.sql`VALUES (${accountId}, ${on}, '', 'search', ${calls})`);

  const overview = await visitor.get('/dashboard');
  expect(overview.textOf('.days summary')).toBe('Days shown: 90 days');
  const month = (ago: number) => `/dashboard?days=${monthBefore(day(0), ago)}#calls`;
  expect(overview.linksOf(PAST)).toEqual([month(1), month(2)]);
  const page = await visitor.get(month(1));
  expect([page.status, page.textOf('[data-figure=plotted]')]).toEqual([200, '47 credits']);
  const name = new Date(from).toLocaleString('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });
  expect(page.textOf('.days summary')).toBe(`Days shown: ${name}`);
  expect(page.textOf('.days a[aria-current]')).toBe(name);
  const lines = (await visitor.get(page.linksOf('#calls .under > a')[0]!)).text.split('\r\n').slice(1, -1);
  expect(lines.map((line) => line.split(',')[0])).toEqual([`"${from}"`, `"${to}"`]);
  // The other language keeps the days.
  expect(page.linksOf('[hreflang=pt]')).toEqual([`?lang=pt&days=${monthBefore(day(0), 1)}`]);
  const portuguese = await visitor.get(month(1), { 'Accept-Language': 'pt' });
  expect(portuguese.textOf('#calls .lead')).toMatch(/^47 créditos · de 1 .+ a \d+ .+, dias em UTC$/);
  const none = await visitor.get('/dashboard?days=2020-01');
  expect([none.status, none.textOf('.empty')]).toEqual([200, 'Nothing on these days']);
  const noneYet = await (await createMember(service)).visitor.get('/dashboard');
  expect(noneYet.textOf('.empty')).toBe('Nothing on these daysEach request shows up here within seconds.');
});

test('calls and errors of a key in 30 days are summed by outcome, each once, listed by day, and stand beside each other in the CSV', async () => {
  const { visitor, accountId } = await createMember(service);
  const { id: keyId } = await createKey(service.sql, accountId, 'web', 'test');
  const { sql } = service;
  const [today, first, before] = [day(0), day(29), day(30)];
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
    'Answered (200) 300',
    'Too many requests in a minute (429) 3',
    'No credits left (429) 4',
    'Limits of a key (403, 429) 5',
    'Not valid, not found or expired (400, 404, 410) 1,200',
    'Failed here (500 to 503) 2',
  ]);
  expect(page.textsOf('#use .plot title')).toEqual([
    expect.stringMatching(/: 2 Failed here \(500 to 503\): 2$/),
    expect.stringMatching(
      /: 1,512 Answered \(200\): 300 Too many requests in a minute \(429\): 3 No credits left \(429\): 4 Limits of a key \(403, 429\): 5 Not valid/,
    ),
  ]);
  expect(page.attributesOf('#use tbody time', 'datetime')).toEqual([today, first]);
  expect(page.cellsOf('#use tbody tr').map(([, ...counts]) => counts)).toEqual([
    ['300', '3', '4', '5', '1,200', '0', '1,512'],
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

describe('the time that a download waits for its reader', () => {
  let clock: ReturnType<typeof stopClock>;
  beforeEach(() => {
    clock = stopClock();
  });
  afterEach(() => clock.restore());

  /** Seconds until a reader that takes so many KiB a second is cut off, at most so many. */
  function lifeOf(kibPerSecond: number, pace: ReturnType<typeof createPace>, most = 400): number {
    let seconds = 0;
    for (; seconds < most && pace.leftMs() > 0; seconds += 1) {
      clock.pass(SECOND);
      pace.took(kibPerSecond * KIB, SECOND);
    }
    return seconds;
  }

  const alone = () => createPace(() => false);
  test.each([
    [0, 10, 10],
    ...[64, 128, 240].map((speed) => [speed, 0, 299] as const),
    ...[256, 1000, 1_000_000].map((speed) => [speed, 299, 301] as const),
  ] as [number, number, number][])(
    'a reader of %d KiB a second has %d to %d s: five minutes from the floor on',
    (speed, least, most) => {
      expect(lifeOf(speed, alone())).toBeWithin(least, most + 1);
    },
  );

  test.each([0, 64, 256, 512, 640])(
    'a reader of %d KiB a second leaves a place that another account wants within 15 s',
    (speed) => {
      let isWanted = false;
      const pace = createPace(() => isWanted);
      if (speed >= 256) lifeOf(speed, pace, 10);
      isWanted = true;
      expect(lifeOf(speed, pace)).toBeLessThanOrEqual(15);
    },
  );

  test('a fast reader keeps a place that another account wants', () => {
    expect(
      lifeOf(
        1024,
        createPace(() => true),
      ),
    ).toBeGreaterThanOrEqual((5 * MINUTE) / SECOND);
  });
});
