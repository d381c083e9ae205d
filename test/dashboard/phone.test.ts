/** The menus of the bar, and the length of pages on a phone; print. */
import { afterAll, expect, test } from 'bun:test';
import { changePlan } from '../../src/metering/accounts/changes.ts';
import { createKey } from '../../src/metering/keys/key-store.ts';
import { ALL_PARTS, startBrowsedDashboard } from './browser.ts';
import { fillAccount } from './full-account.ts';
import { storeCalls } from './service.ts';

const { service, browsing, stop } = await startBrowsedDashboard(ALL_PARTS);
afterAll(() => stop());

const dashboard = (path: string) => `${service.baseUrl}/dashboard${path}`;
const PHONE = { viewport: { width: 360, height: 740 } };

test('the menus of the bar name the account, lead everywhere, and close; also without scripts', async () => {
  for (const javaScriptEnabled of [true, false])
    await browsing.inBrowser({ ...PHONE, javaScriptEnabled }, async (page) => {
      const { accountId, email } = await browsing.enter(page.context());
      await service.sql`UPDATE accounts SET name = 'Oliveira & Filhos' WHERE id = ${accountId}`;
      await page.goto(dashboard(''));
      expect(await page.textContent('.account > summary')).toContain('Oliveira & Filhos');
      await page.click('.menu:not(.account) > summary');
      if (javaScriptEnabled) await browsing.inspect(page);
      await page.click('nav >> text=Credits');
      await page.waitForURL(dashboard('/credits'));
      await page.click('.account > summary');
      expect(await page.textContent('.account > div')).toContain(email);
      if (javaScriptEnabled) {
        await browsing.inspect(page);
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
  browsing.inBrowser({ ...PHONE, locale: 'pt-PT' }, async (page) => {
    const { accountId } = await browsing.enter(page.context());
    await changePlan(service.sql, accountId, 'plus', {}, 'test');
    for (let index = 0; index < 100; index += 1)
      await createKey(service.sql, accountId, `serviço de faturação ${'longo '.repeat(index % 9)}`, 'test');
    await page.goto(dashboard('/keys'));
    expect(await page.locator('.keys tbody tr').count()).toBe(100);
    expect(await page.isVisible('.keys tr >> text=Nunca')).toBe(true);
    expect(await page.evaluate<number>('document.documentElement.scrollHeight')).toBeLessThan(8800);
  }));

test('the menu of days lies over the numbers below the plot, and works there', () =>
  browsing.inBrowser({}, async (page) => {
    const { accountId } = await browsing.enter(page.context());
    // Three months, whose links make the menu longer than the plot.
    const calls = [1, 35, 65].map((daysAgo) => ({ daysAgo, keyId: '', kind: 'search' as const, calls: 5 }));
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

test('“buy credits” is large enough for a finger at every width', () =>
  browsing.inBrowser({}, async (page) => {
    await browsing.enter(page.context());
    for (const path of ['', '/credits'])
      for (const width of [360, 768, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        await page.goto(dashboard(path));
        const box = await page.locator('main a[href*="shop.example"]').first().boundingBox();
        expect(box!.height).toBeGreaterThanOrEqual(24);
      }
  }));

test('a new account’s plot has no days to come, and credits on A4 paper are a table', () =>
  browsing.inBrowser({ timezoneId: 'UTC' }, async (page) => {
    const { accountId } = await browsing.enter(page.context());
    await fillAccount(service, accountId);
    await service.sql`DELETE FROM daily_counts WHERE NOT is_error AND account_id = ${accountId} AND day < (now() AT TIME ZONE 'UTC')::date`;
    await page.goto(dashboard(''));
    const today = new Date().getUTCDate();
    expect((await page.locator('#calls .plot text').allTextContents()).map(Number.parseInt)).toEqual([today]);
    await page.setViewportSize({ width: 794, height: 1123 });
    await page.emulateMedia({ media: 'print' });
    await page.goto(dashboard('/credits'));
    expect(await page.isVisible('.list thead')).toBe(true);
    expect(await page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  }));

test('the examples of the reference are not cut', () =>
  browsing.inBrowser({}, async (page) => {
    await page.goto(`${service.baseUrl}/openapi`);
    const cut = `[...document.querySelectorAll('.samples pre')].filter((code) => code.scrollWidth > code.clientWidth).map((code) => code.id)`;
    expect(await page.evaluate<string[]>(cut)).toEqual([]);
  }));
