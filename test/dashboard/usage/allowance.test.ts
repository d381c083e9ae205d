/** Pages when credits run low, and the ways to get more. */
import { afterAll, describe, expect, test } from 'bun:test';
import { formatsOf } from '../../../src/dashboard/ui/language.ts';
import { creditHistory } from '../../../src/dashboard/usage/credits-page.ts';
import { changePlan } from '../../../src/metering/accounts/changes.ts';
import { grantCredits } from '../../../src/metering/accounts/grant.ts';
import { startDashboardService, storeCalls } from '../service.ts';
import { createMember, createVisitor, makeKey } from '../visitor.ts';

const service = await startDashboardService({
  CONTACT: 'mailto:help@example.com',
  PRIVACY_URL: 'https://example.com/privacy#keys',
  TERMS_URL: 'https://example.com/terms',
  STATUS_URL: 'https://status.example.com/',
});
afterAll(() => service.stop());

const setUsed = (accountId: string, used: number) =>
  service.sql`UPDATE balances SET used = ${used} WHERE account_id = ${accountId}`;

describe('the notice', () => {
  test('is on every page from 80% on, with a forecast, and says what to do', async () => {
    const { visitor, accountId } = await createMember(service);
    const notice = async (path = '') => {
      const page = await visitor.get(`/dashboard${path}`);
      const state = page.document.querySelector('[data-allowance]')?.getAttribute('data-allowance') ?? null;
      return { state, text: page.textOf('[data-allowance]') ?? '' };
    };
    await setUsed(accountId, 399);
    expect((await notice()).state).toBeNull();

    await setUsed(accountId, 400);
    await storeCalls(service.sql, accountId, [{ daysAgo: 4, keyId: '', kind: 'search', calls: 400 }]);
    for (const path of ['', '/keys', '/try', '/credits', '/settings']) {
      const { state, text } = await notice(path);
      expect([path, state]).toEqual([path, 'low']);
      expect(text).toMatch(
        /^80% of the included credits are used: 400 of 500 since .+ At the pace of the last 7/,
      );
      expect(text).toEndWith('How to get more credits · help@example.com');
    }

    await grantCredits(service.sql, accountId, { credits: 7 }, 'test');
    await setUsed(accountId, 500);
    expect(await notice()).toEqual({
      state: 'beyond',
      text: expect.stringContaining('purchased credits: 7 left'),
    });

    // Quiet, because purchased credits last.
    await service.sql`UPDATE balances SET credits = 100000, period_end = now() + interval '9 days' WHERE account_id = ${accountId}`;
    expect((await notice('/keys')).state).toBeNull();
    const overview = await visitor.get('/dashboard');
    expect(overview.document.querySelector('.stock-row.fine')).not.toBeNull();
    expect(overview.textOf('[data-forecast]')).toContain('last until the period ends');

    await service.sql`UPDATE balances SET spend_purchased = false WHERE account_id = ${accountId}`;
    expect(await notice()).toEqual({
      state: 'none',
      text: expect.stringContaining('does not spend purchased ones. Requests are refused'),
    });
    const remedy = (await visitor.get('/dashboard')).document.querySelector('[data-allowance] a')!;
    expect(remedy.getAttribute('href')).toBe('/dashboard/credits/spending');
    await service.sql`UPDATE balances SET credits = 0, used = 507 WHERE account_id = ${accountId}`;
    const none = await notice();
    expect(none.state).toBe('none');
    expect(none.text).toMatch(
      /^No credits left in the period since .+\. Requests are refused with status 429 until .+ UTC\. That costs nothing\./,
    );
    const { document } = await visitor.get('/dashboard');
    expect(document.querySelector('.notice.bad [href="mailto:help@example.com"]')).not.toBeNull();

    const portuguese = await visitor.get('/dashboard', { 'Accept-Language': 'pt' });
    expect(portuguese.textOf('[data-allowance]')).toStartWith('Sem créditos no período desde');
  });

  test('the forecast divides the credits that are left by the calls a day since the first call, but at least one day', async () => {
    const { visitor, accountId } = await createMember(service);
    await service.sql`UPDATE balances SET period_end = now() + interval '30 days' WHERE account_id = ${accountId}`;
    const forecast = async () => (await visitor.get('/dashboard')).textOf('[data-forecast]');
    expect(await forecast()).toBeNull();
    await storeCalls(service.sql, accountId, [{ daysAgo: 0, keyId: '', kind: 'lookup', calls: 1 }]);
    expect(await forecast()).toContain('last until the period ends');
    await storeCalls(service.sql, accountId, [{ daysAgo: 0, keyId: '', kind: 'search', calls: 499 }]);
    // 500 a day, and 500 left: tomorrow.
    const tomorrow = new Date(Date.now() + 24 * 3600 * 1000);
    expect(await forecast()).toContain(`last until ${tomorrow.getUTCDate()} `);
  });
});

describe('plan and credits', () => {
  test('both plans are shown with their limits, and who adds credits, with the account number', async () => {
    const { visitor, accountId } = await createMember(service);
    const page = await visitor.get('/dashboard/credits');
    const rows = [...page.document.querySelectorAll('.plans tr')].map((row) =>
      [...row.querySelectorAll('th, td')].map((cell) => cell.textContent!.replace(/\s+/g, ' ').trim()),
    );
    expect(rows).toEqual([
      ['', 'Free Your plan', 'Plus'],
      ['Included credits a month', '500', '1,250'],
      ['Requests a minute', '20', '60'],
      ['API keys', '2', '10,000'],
    ]);
    expect(page.textOf('#account-id')).toBe(accountId);
    expect(page.textOf('main')).toContain('The operator of this service adds credits and changes plans.');
  });

  test('a Plus that ends is said to end, and not to be reset', async () => {
    const { visitor, accountId } = await createMember(service);
    const until = new Date(Date.now() + 5 * 24 * 3600 * 1000);
    await changePlan(service.sql, accountId, 'plus', { until }, 'test');
    const overview = await visitor.get('/dashboard');
    const day = formatsOf('en').end(until);
    expect(overview.textOf('[data-plan-end]')).toBe(
      `Plus ends on ${day}. Then the account is Free: credits a month: 500, API keys: 2. Further keys go on working.`,
    );
    expect(overview.textOf('.stock-row')).not.toContain('Resets');
    expect((await visitor.get('/dashboard/credits')).text).toContain('Plus ends on');
  });

  test('purchased credits are switched off after a question, which says when that refuses requests', async () => {
    const { visitor, accountId } = await createMember(service);
    const question = () => visitor.get('/dashboard/credits/spending');
    expect((await question()).document.querySelector('main form button')!.className).toBe('');
    expect((await question()).text).not.toContain('requests are refused');
    await setUsed(accountId, 500);
    expect((await question()).textOf('.sheet .notice.bad')).toStartWith(
      'The included credits are used. If you turn this off, requests are refused until',
    );
    await visitor.submit('/dashboard/credits/spending', {});
    expect((await visitor.get('/dashboard/credits')).text).toContain('Purchased credits stay.');
    expect((await question()).textOf('main form button')).toBe('Turn on');
  });

  test('keys beyond the plan are said to work, and not to be in its places', async () => {
    const { visitor, accountId } = await createMember(service);
    await changePlan(service.sql, accountId, 'plus', {}, 'test');
    for (const name of ['a', 'b', 'c']) await makeKey(visitor, name);
    expect((await visitor.get('/dashboard/keys')).textOf('[data-over-limit]')).toBeNull();
    await changePlan(service.sql, accountId, 'free', {}, 'test');
    expect((await visitor.get('/dashboard/keys')).textOf('[data-over-limit]')).toStartWith(
      'Keys that work: 3. The plan has room for 2. All of them go on working, for nothing.',
    );
    const portuguese = await visitor.get('/dashboard/keys', { 'Accept-Language': 'pt' });
    expect(portuguese.textOf('[data-over-limit]')).toStartWith('Chaves ativas: 3. O plano prevê 2.');
  });

  test('the history has each grant with its reference, and what calls spent between grants', async () => {
    const { visitor, accountId } = await createMember(service);
    await grantCredits(
      service.sql,
      accountId,
      { credits: 100, reference: 'invoice-17', note: 'first' },
      'test',
    );
    await service.sql`UPDATE balances SET credits = credits - 30 WHERE account_id = ${accountId}`;
    await grantCredits(service.sql, accountId, { credits: 50 }, 'test');
    await service.sql`UPDATE balances SET credits = credits - 2 WHERE account_id = ${accountId}`;
    const { document } = await visitor.get('/dashboard/credits');
    const rows = [...document.querySelectorAll('.list tbody tr')].map((row) =>
      [...row.querySelectorAll('td')].map((cell) => cell.textContent!.trim()),
    );
    expect(rows).toEqual([
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
    while (!isOver) expect((await visitor.get('/dashboard/credits.csv')).text).not.toContain('"spent"');
    await over;
  });

  test('the amounts of the history add up to the balance', () => {
    const at = new Date();
    const grant = { id: 1, at, note: '', reference: null };
    const grants = [
      { ...grant, credits: 5, balance: 9, until: null, left: 3 },
      { ...grant, credits: 10, balance: 10, until: at, left: 4 },
    ];
    const entries = creditHistory(grants);
    expect(entries.map(({ credits }) => credits)).toEqual([-6, 5, -6, 10]);
    expect(entries.reduce((sum, { credits }) => sum + credits, 0)).toBe(3);
  });
});

describe('CONTACT and the links', () => {
  test('stand in the footer of every page, and sign-up links terms and privacy', async () => {
    const visitor = createVisitor(service.baseUrl);
    for (const path of ['/sign-in', '/sign-up', '/forgot']) {
      const { document } = await visitor.get(`/dashboard${path}`);
      const links = [...document.querySelectorAll('footer a')].map((link) => link.getAttribute('href'));
      expect(links.slice(1)).toEqual([
        '/openapi?lang=en',
        'mailto:help@example.com',
        'https://example.com/privacy#keys',
        'https://example.com/terms',
        'https://status.example.com/',
      ]);
    }
    expect((await visitor.get('/dashboard/sign-up')).textOf('.aside')).toBe(
      'By creating an account you accept: Terms of use · Privacy notice',
    );
    expect((await visitor.get('/dashboard/forgot')).textOf('.lead')).toEndWith('help@example.com');
  });

  test('the page of a problem says whom to ask', async () => {
    const page = await fetch(`${service.baseUrl}/problems/monthly-quota-exceeded`).then((answer) =>
      answer.text(),
    );
    expect(page).toContain('<a href="mailto:help@example.com">help@example.com</a>');
  });
});

describe('the page of a new key', () => {
  test('has a call to copy', async () => {
    const { visitor } = await createMember(service);
    await makeKey(visitor);
    const page = await visitor.submit('/dashboard/keys', { name: 'second' });
    expect(page.textOf('#sample-new-curl')).toMatch(/^curl -s .+companies\?q=/);
  });
});
