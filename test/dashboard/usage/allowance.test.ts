/** Pages when credits run low, and the ways to get more. */
import { afterAll, expect, test } from 'bun:test';
import { formatsOf } from '../../../src/dashboard/ui/language.ts';
import { loadHistory } from '../../../src/metering/account-data/history.ts';
import { changePlan } from '../../../src/metering/accounts/changes.ts';
import { grantCredits } from '../../../src/metering/accounts/grant.ts';
import { createKey } from '../../../src/metering/keys/key-store.ts';
import { startDashboardService, storeCalls } from '../service.ts';
import { createMember, createVisitor } from '../visitor.ts';

const LINKS = {
  CONTACT: 'mailto:help@example.com',
  PRIVACY_URL: 'https://example.com/privacy#keys',
  TERMS_URL: 'https://example.com/terms',
  STATUS_URL: 'https://status.example.com/',
};
const service = await startDashboardService(LINKS);
afterAll(() => service.stop());

const setUsed = (accountId: string, used: number) =>
  service.sql`UPDATE balances SET used = ${used} WHERE account_id = ${accountId}`;

test('the notice is on every page from 80% on, with a forecast, unless purchased credits last, and leads to the remedy', async () => {
  const { visitor, accountId } = await createMember(service);
  const notice = (path = '') => visitor.textAt(`/dashboard${path}`, '[data-notice^=credits]');
  await setUsed(accountId, 399);
  expect(await notice()).toBeNull();
  await setUsed(accountId, 400);
  await storeCalls(service.sql, accountId, [{ daysAgo: 4, kind: 'search', calls: 400 }]);
  const low =
    /^80% of the included credits are used: 400 of 500 since .+ At the pace of the last 7.*How to get more credits · help@example\.com$/;
  for (const path of ['', '/keys', '/try', '/credits', '/settings'])
    expect([path, await notice(path)]).toEqual([path, expect.stringMatching(low)]);

  await grantCredits(service.sql, accountId, { credits: 100_000 }, 'test');
  await service.sql`UPDATE balances SET used = 500, period_end = now() + interval '9 days' WHERE account_id = ${accountId}`;
  expect(await notice('/keys')).toBeNull();
  expect(await visitor.textAt('/dashboard', '.figure.fine [data-forecast]')).toContain(
    'last until the period ends',
  );
  await service.sql`UPDATE balances SET credits = 0, used = 507 WHERE account_id = ${accountId}`;
  expect(await notice()).toMatch(
    /^No credits left in the period since .+\. Requests are refused with status 429 until .+ UTC\. That costs nothing\./,
  );
  expect((await visitor.get('/dashboard')).linksOf('.notice.bad a')).toContain('mailto:help@example.com');
});

test('the forecast divides the credits that are left by the calls a day since the first call, but at least one day', async () => {
  const { visitor, accountId } = await createMember(service);
  await service.sql`UPDATE balances SET period_end = now() + interval '30 days' WHERE account_id = ${accountId}`;
  const forecast = () => visitor.textAt('/dashboard', '[data-forecast]');
  expect(await forecast()).toBeNull();
  await storeCalls(service.sql, accountId, [{ kind: 'lookup', calls: 1 }]);
  expect(await forecast()).toContain('last until the period ends');
  await storeCalls(service.sql, accountId, [{ kind: 'search', calls: 499 }]);
  // 500 a day, and 500 left: tomorrow.
  const tomorrow = new Date(Date.now() + 24 * 3600 * 1000);
  expect(await forecast()).toContain(`last until ${tomorrow.getUTCDate()} `);
});

test('both plans are shown with their limits, and who adds credits, with the account number', async () => {
  const { visitor, accountId } = await createMember(service);
  const page = await visitor.get('/dashboard/credits');
  expect(page.cellsOf('.plans tr')).toEqual([
    ['', 'Free Your plan', 'Plus'],
    ['Included credits a month', '500', '1,250'],
    ['Requests a minute', '20', '60'],
    ['API keys', '2', '10,000'],
  ]);
  expect(page.textOf('#account-id')).toBe(accountId);
  expect(page.textOf('main')).toContain('The operator of this service adds credits and changes plans.');
});

test('the end of Plus is said from 7 days before it until 30 days after it, and no reset', async () => {
  const { visitor, accountId } = await createMember(service);
  const until = new Date(Date.now() + 5 * 24 * 3600 * 1000);
  await changePlan(service.sql, accountId, 'plus', { until }, 'test');
  expect(await visitor.textAt('/dashboard', '.figure')).not.toContain('Resets');
  expect(await visitor.textAt('/dashboard/credits', '.plans + p')).toBe(
    `Plus ends on ${formatsOf('en').end(until)}. Then the account is Free: credits a month: 500, API keys: 2. Further keys go on working.`,
  );
  for (const [days, isSaid] of [
    [8, false],
    [6, true],
    [-29, true],
    [-31, false],
  ] as const) {
    await service.sql`
      UPDATE balances SET plus_anchor = now() - interval '60 days', plus_until = now() + ${days} * interval '1 day',
        period_start = now() - interval '60 days', period_end = now() + ${days} * interval '1 day' WHERE account_id = ${accountId}`;
    const notice = await visitor.textAt('/dashboard/keys', '[data-notice=plan]');
    expect([days, notice !== null]).toEqual([days, isSaid]);
  }
});

test('purchased credits are switched off after a question, which says when that refuses requests, and the ledger says by whom', async () => {
  const { visitor, accountId, userId } = await createMember(service);
  const question = () => visitor.get('/dashboard/credits/spending');
  expect((await question()).attributesOf('main form button', 'class')).toEqual(['']);
  expect((await question()).text).not.toContain('requests are refused');
  await setUsed(accountId, 500);
  expect((await question()).textOf('.sheet .notice.bad')).toStartWith(
    'The included credits are used. If you turn this off, requests are refused until',
  );
  await visitor.submit('/dashboard/credits/spending', {});
  const last = (await loadHistory(service.sql, accountId)).at(-1)!;
  expect([last.kind, last.actor]).toEqual(['limits', `dashboard:${userId}`]);
  expect((await visitor.get('/dashboard/credits')).text).toContain('Purchased credits stay.');
  expect((await question()).textOf('main form button')).toBe('Turn on');
});

test('keys beyond the plan are said to work, and not to be in its places', async () => {
  const { visitor, accountId } = await createMember(service);
  const notice = () => visitor.textAt('/dashboard/keys', '[data-over-limit]');
  await changePlan(service.sql, accountId, 'plus', {}, 'test');
  for (const name of ['a', 'b', 'c']) await createKey(service.sql, accountId, name, 'test');
  expect(await notice()).toBeNull();
  await changePlan(service.sql, accountId, 'free', {}, 'test');
  expect(await notice()).toStartWith(
    'Keys that work: 3. The plan has room for 2. All of them go on working, for nothing.',
  );
});

test('the history has each grant with its reference, and what calls spent between grants', async () => {
  const { visitor, accountId } = await createMember(service);
  const invoice = { credits: 100, reference: 'invoice-17', note: 'first' };
  await grantCredits(service.sql, accountId, invoice, 'test');
  await service.sql`UPDATE balances SET credits = credits - 30 WHERE account_id = ${accountId}`;
  await grantCredits(service.sql, accountId, { credits: 50 }, 'test');
  await service.sql`UPDATE balances SET credits = credits - 2 WHERE account_id = ${accountId}`;
  const rows = (await visitor.get('/dashboard/credits')).cellsOf('.list tbody tr');
  expect(rows.map(([when]) => when)).toEqual(
    Array(4).fill(expect.stringMatching(/^\d+ \w+ \d{4}, \d\d:\d\d/)),
  );
  expect(rows.map((row) => row.slice(1))).toEqual([
    ['−2', '118', '–', 'Beyond the allowance'],
    ['+50', '120', '–', '–'],
    ['−30', '70', '–', 'Beyond the allowance'],
    ['+100', '100', 'invoice-17', 'first'],
  ]);
});

test('a grant that comes while the history is read is no spending', async () => {
  const { visitor, accountId } = await createMember(service);
  let isOver = false;
  const granting = Array.from({ length: 40 }).reduce<Promise<unknown>>(
    (before) => before.then(() => grantCredits(service.sql, accountId, { credits: 1 }, 'test')),
    Promise.resolve(),
  );
  const over = granting.finally(() => {
    isOver = true;
  });
  while (!isOver)
    expect((await visitor.get('/dashboard/credits')).text).not.toContain('Beyond the allowance');
  await over;
});

test('CONTACT and the links stand in the footer of every page; the page of a problem has the one, sign-up terms and privacy', async () => {
  const visitor = createVisitor(service.baseUrl);
  const { CONTACT, PRIVACY_URL, TERMS_URL, STATUS_URL } = LINKS;
  const links = ['/openapi?lang=en', CONTACT, PRIVACY_URL, TERMS_URL, STATUS_URL];
  for (const path of ['/sign-in', '/sign-up', '/forgot'])
    expect((await visitor.get(`/dashboard${path}`)).linksOf('footer a').slice(1)).toEqual(links);
  expect(await visitor.textAt('/dashboard/sign-up', '.aside')).toBe(
    'By creating an account you accept: Terms of use · Privacy notice',
  );
  expect(await visitor.textAt('/dashboard/forgot', '.lead')).toEndWith('help@example.com');
  const problem = await visitor.get('/problems/monthly-quota-exceeded');
  expect(problem.textsOf('[href="mailto:help@example.com"]')).toContain('help@example.com');
});
