/** The menus of the bar, the length of pages on a phone, answers with the longest names at every width, and pages between forms. */
import { afterAll, expect, test } from 'bun:test';
import { changePlan } from '../../src/metering/accounts/changes.ts';
import { createKey } from '../../src/metering/keys/key-store.ts';
import { importBrackets } from '../companies/debts/debts-support.ts';
import { csv, nif } from '../support/companies.ts';
import { ALL_PARTS, faultsOfWidth, startBrowsedDashboard } from './browser.ts';
import { LONG } from './full-account.ts';
import { importCompanies, storeCalls } from './service.ts';
import { newPerson } from './visitor.ts';

const { service, dashboard, browsing, stop } = await startBrowsedDashboard(ALL_PARTS);
afterAll(() => stop());
const { asMember, inspect } = browsing;

const PHONE = { viewport: { width: 360, height: 740 } };

test('the menus of the bar name the account, lead everywhere, and close; also without scripts', async () => {
  for (const javaScriptEnabled of [true, false])
    await asMember({ ...PHONE, javaScriptEnabled }, async (page, { accountId, email }) => {
      await service.sql`UPDATE accounts SET name = 'Oliveira & Filhos' WHERE id = ${accountId}`;
      await page.reload();
      expect(await page.textContent('.account > summary')).toContain('Oliveira & Filhos');
      await page.click('.menu:not(.account) > summary');
      if (javaScriptEnabled) await inspect(page);
      await page.click('nav >> text=Credits');
      await page.waitForURL(dashboard('/credits'));
      await page.click('.account > summary');
      expect(await page.textContent('.account > div')).toContain(email);
      if (javaScriptEnabled) {
        await inspect(page);
        await page.keyboard.press('Escape');
        expect(await page.isVisible('.account >> text=Settings')).toBe(false);
        await page.click('.account > summary');
      }
      await page.click('.account >> text=Settings');
      await page.waitForURL(dashboard('/settings'));
      await page.click('.account > summary');
      await page.click('text=Sign out');
      await page.waitForSelector('text=You are signed out.');
    });
});

test('a hundred keys with the form of a new one take at most 8,800 px, each with its name and its last use', () =>
  asMember({ ...PHONE, path: '/keys', locale: 'pt-PT' }, async (page, { accountId }) => {
    await changePlan(service.sql, accountId, 'plus', {}, 'test');
    for (let index = 0; index < 100; index += 1)
      await createKey(service.sql, accountId, `serviço de faturação ${'longo '.repeat(index % 9)}`, 'test');
    await page.reload();
    expect(await page.locator('.keys tbody tr').count()).toBe(100);
    expect(await page.isVisible('.keys tr >> text=Nunca')).toBe(true);
    expect(await page.evaluate<number>('document.documentElement.scrollHeight')).toBeLessThan(8800);
  }));

test('the menu of days lies over the numbers below the plot, and works there', () =>
  asMember({}, async (page, { accountId }) => {
    // Three months, whose links make the menu longer than the plot.
    const calls = [1, 35, 65].map((daysAgo) => ({ daysAgo, kind: 'search' as const, calls: 5 }));
    await storeCalls(service.sql, accountId, calls);
    for (const width of [320, 360, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      await page.goto(dashboard(''));
      await page.click('#calls .under summary');
      await page.click('.days > summary');
      // Fails if a part of the table lies over the link.
      await page.click('.days li:last-child a');
      await page.waitForURL(/[?&]days=\d{4}-\d\d/);
    }
  }));

test('the examples of the reference are not cut', () =>
  browsing.inBrowser({}, async (page) => {
    await page.goto(`${service.baseUrl}/openapi`);
    const cut = `[...document.querySelectorAll('.samples pre')].filter((code) => code.scrollWidth > code.clientWidth).map((code) => code.id)`;
    expect(await page.evaluate<string[]>(cut)).toEqual([]);
  }));

test('no answer of Try and Screen has cells over each other, or a button whose name lacks its text', () =>
  asMember({ locale: 'pt-PT' }, async (page) => {
    const names = [
      'Altitude Software – Sistemas e Serviços, S.A.',
      'de Transportes Carrazeda-Vila Flor, Limitada',
      LONG,
    ];
    const companies = csv(1, 7, (n) => `Sociedade ${names[n % 3]}`);
    await importCompanies(service, companies);
    await importBrackets({ url: service.databaseUrl, sql: service.sql }, { [nif(3)]: [7500, 25_000] });
    await page.goto(dashboard('/try?q=sociedade'));
    await page.click('button[value=search]');
    await page.waitForSelector('.found');
    expect(await faultsOfWidth(page, 'Try')).toEqual([]);
    await inspect(page);
    await page.goto(dashboard('/screen'));
    await page.fill('#list', [1, 2, 3].map(nif).join(' '));
    await page.click('form.card .actions button');
    await page.click('button[name=price]');
    await page.waitForSelector('#answer-title');
    expect(await faultsOfWidth(page, 'Screen')).toEqual([]);
    await inspect(page);
  }));

test('on a narrow phone in Portuguese the pages of secrets fit, and axe finds nothing serious', () =>
  asMember({ ...PHONE, path: '/settings/second-factor', locale: 'pt-PT' }, async (page, member) => {
    await page.fill('#present', member.password);
    await page.click('main form button[type=submit]');
    await page.waitForSelector('svg.qr');
    const [code = ''] = (await page.textContent('#backup-codes'))!.split('\n');
    await inspect(page);
    await service.sql.begin(async (sql) => {
      // Without the trigger that ends the session.
      await sql`SET LOCAL session_replication_role = replica`;
      await sql`UPDATE dashboard_users SET "twoFactorEnabled" = true WHERE "id" = ${member.userId}`;
    });
    await page.goto(dashboard('/settings/second-factor/codes'));
    await page.fill('#code', code);
    await page.fill('#present', member.password);
    await page.click('main form button[type=submit]');
    await page.waitForSelector('#backup-codes');
    await inspect(page);
  }));

test('Back after a form opens its page, also if it was refused once, and after a sign-up', () =>
  asMember({ path: '/settings/name' }, async (page, member) => {
    await page.fill('#name', ' ');
    await page.click('main form button[type=submit]');
    await page.waitForSelector('#name-fault');
    await page.fill('#name', 'Rita');
    await page.click('main form button[type=submit]');
    await page.waitForURL(dashboard('/settings'));
    await page.goBack();
    expect([page.url(), await page.inputValue('#name')]).toEqual([dashboard('/settings/name'), 'Rita']);

    await page.context().clearCookies();
    await page.goto(dashboard('/forgot'));
    await page.fill('#email', member.email);
    await page.click('main form button[type=submit]');
    await page.waitForSelector('[role=status]');
    await page.click('.below a');
    await page.waitForURL(dashboard('/sign-in'));
    await page.goBack();
    expect(await page.isVisible('#email')).toBe(true);

    await page.goto(dashboard('/sign-up'));
    const { name, email } = newPerson();
    await page.fill('#name', name);
    await page.fill('#email', email);
    await page.click('main form button[type=submit]');
    await page.waitForURL(dashboard('/sign-up/again'));
    await page.reload();
    expect(await page.textContent('.lead')).toContain(email);
  }));
