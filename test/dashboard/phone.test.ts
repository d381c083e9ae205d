/** The dashboard on a narrow phone, in Portuguese, whose words are the longer ones. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { changePlan } from '../../src/accounts/changes.ts';
import { grantCredits } from '../../src/accounts/grant.ts';
import { createKey } from '../../src/keys/store.ts';
import { startBrowsedDashboard } from './browser.ts';
import { storeCalls } from './service.ts';

setDefaultTimeout(60_000);

const { service, browsing, stop } = await startBrowsedDashboard({ CONTACT: 'mailto:ajuda@example.com' });
afterAll(() => stop());

const PHONE = { viewport: { width: 360, height: 740 }, locale: 'pt-PT' };

test('every link of the navigation is inside the window', () =>
  browsing.inBrowser(PHONE, async (page) => {
    await browsing.enter(page.context());
    await page.goto(`${service.baseUrl}/dashboard/settings`);
    const outside = await page.evaluate<string[]>(`
      [...document.querySelectorAll('nav a')].filter((link) => {
        const { left, right } = link.getBoundingClientRect();
        return left < 0 || right > innerWidth;
      }).map((link) => link.textContent)`);
    expect(outside).toEqual([]);
    expect(await page.locator('nav a').count()).toBeGreaterThan(4);
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/nav-360-pt.png` });
  }));

test('an account without credits sees what to do, in its window', () =>
  browsing.inBrowser(PHONE, async (page) => {
    const accountId = await browsing.enter(page.context());
    await grantCredits(
      service.sql,
      accountId,
      { credits: 1200, reference: 'FT 2026/117', note: 'n'.repeat(80) },
      'test',
    );
    await service.sql`UPDATE balances SET credits = 0, used = 1700 WHERE account_id = ${accountId}`;
    for (const path of ['', '/credits']) {
      await browsing.inspect(page, path);
      expect(await page.isVisible('[data-allowance=none]')).toBe(true);
      const file = `${process.env.SHOTS}/none-360-pt${path.replace('/', '-')}.png`;
      if (process.env.SHOTS) await page.screenshot({ path: file, fullPage: true });
    }
    if (!process.env.SHOTS) return;
    await page.setViewportSize({ width: 1280, height: 800 });
    for (const path of ['', '/credits', '/try']) {
      await page.goto(`${service.baseUrl}/dashboard${path}`);
      await page.screenshot({
        path: `${process.env.SHOTS}/none-1280-pt${path.replace('/', '-')}.png`,
        fullPage: true,
      });
    }
  }));

test('the table of six keys with long names stays in its card, and no date is broken', () =>
  browsing.inBrowser(PHONE, async (page) => {
    const accountId = await browsing.enter(page.context());
    await changePlan(service.sql, accountId, 'plus', {}, 'test');
    for (let index = 0; index < 6; index += 1) {
      const name = index === 0 ? 'n'.repeat(200) : `serviço de faturação ${index}`;
      const { id } = await createKey(service.sql, accountId, name, 'test');
      await storeCalls(service.sql, accountId, [
        { daysAgo: index, keyId: id, kind: 'search', calls: 12_345 },
      ]);
    }
    await page.goto(`${service.baseUrl}/dashboard?by=key`);
    await page.click('summary');
    await browsing.inspect(page);
    const heights = await page.evaluate<number[]>(`
      [...document.querySelectorAll('.numbers tbody th')].map((cell) => cell.getBoundingClientRect().height)`);
    expect(heights.length).toBe(6);
    expect(Math.max(...heights)).toBeLessThan(45);
    if (process.env.SHOTS)
      await page.screenshot({ path: `${process.env.SHOTS}/table-360-pt.png`, fullPage: true });
  }));
