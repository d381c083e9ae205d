/** The bar, the notices and the length of pages on a phone; menus; wide spacing of text; print. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { changePlan } from '../../src/metering/accounts/changes.ts';
import { createKey } from '../../src/metering/keys/store.ts';
import { startBrowsedDashboard } from './browser.ts';
import { fillAccount, memberPages, VISITOR_PAGES } from './full-account.ts';

setDefaultTimeout(120_000);

const { service, browsing, stop } = await startBrowsedDashboard({
  CONTACT: 'mailto:ajuda@example.com',
  BUY_URL: 'https://shop.example.com/{account}',
  // Pages that send mail have further parts. Nothing is sent.
  SMTP_URL: 'smtp://127.0.0.1:9',
});
afterAll(() => stop());

const dashboard = (path: string) => `${service.baseUrl}/dashboard${path}`;
const PHONE = { viewport: { width: 360, height: 740 } };

/** The faults that a script of a page finds, by page. */
async function faultsOf(page: Page, paths: string[], script: string): Promise<string[]> {
  const faults: string[] = [];
  for (const path of paths) {
    await page.goto(dashboard(path));
    for (const fault of await page.evaluate<string[]>(script)) faults.push(`${path}: ${fault}`);
  }
  return faults;
}

for (const locale of ['en-GB', 'pt-PT'])
  test(`at 360 px the bar has one row, and each page begins within 200 px (${locale})`, () =>
    browsing.inBrowser({ ...PHONE, locale }, async (page) => {
      const { accountId } = await browsing.enter(page.context());
      const paths = await memberPages(service, accountId, await fillAccount(service, accountId));
      const script = `(() => {
        const bar = document.querySelector('.bar').getBoundingClientRect().height;
        const first = document.querySelector('main > :not(.printed, .notices)').getBoundingClientRect().top;
        return [bar > 66 && 'the bar is ' + bar + ' px high', first > 200 && 'it begins at ' + first].filter(Boolean);
      })()`;
      expect(await faultsOf(page, paths, script)).toEqual([]);
      await page.setViewportSize({ width: 1280, height: 800 });
      // The spacing of WCAG 1.4.12.
      const spaced = `(() => {
        const rows = document.querySelector('.bar').offsetHeight;
        const sheet = new CSSStyleSheet();
        sheet.replaceSync('* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important }');
        document.adoptedStyleSheets = [sheet];
        const { scrollWidth, clientWidth } = document.documentElement;
        const bar = document.querySelector('.bar-inner');
        return [rows > 66 && 'the bar has two rows', scrollWidth > clientWidth && 'too wide', bar.scrollWidth > bar.clientWidth && 'the bar is too wide'].filter(Boolean);
      })()`;
      expect(await faultsOf(page, paths, spaced)).toEqual([]);
    }));

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

// The width changes no colour, and the scheme no box.
for (const [locale, width, colorScheme] of [
  ['en-GB', 360, 'dark'],
  ['pt-PT', 360, 'light'],
  ['en-GB', 1280, 'light'],
] as const)
  test(`axe finds nothing serious on any page, with its menus open (${locale}, ${width} px, ${colorScheme})`, () =>
    browsing.inBrowser({ viewport: { width, height: 740 }, locale, colorScheme }, async (page) => {
      for (const path of VISITOR_PAGES) {
        await page.goto(service.baseUrl + path);
        await browsing.inspect(page);
      }
      const { accountId } = await browsing.enter(page.context());
      const paths = await memberPages(service, accountId, await fillAccount(service, accountId));
      for (const [index, path] of paths.entries()) {
        await page.goto(dashboard(path));
        // On a phone each page has one menu open in one language, and the other in the other one.
        const isAccount = width > 360 || (index % 2 === 0) === (locale === 'en-GB');
        await page.click(isAccount ? '.account > summary' : '.bar .menu:not(.account) > summary');
        await browsing.inspect(page);
      }
    }));

test('a hundred keys take at most 8,000 px, each with its name and its last use', () =>
  browsing.inBrowser({ ...PHONE, locale: 'pt-PT' }, async (page) => {
    const { accountId } = await browsing.enter(page.context());
    await changePlan(service.sql, accountId, 'plus', {}, 'test');
    for (let index = 0; index < 100; index += 1)
      await createKey(service.sql, accountId, `serviço de faturação ${'longo '.repeat(index % 9)}`, 'test');
    await page.goto(dashboard('/keys'));
    expect(await page.locator('.keys tbody tr').count()).toBe(100);
    expect(await page.isVisible('.keys tr >> text=Nunca')).toBe(true);
    expect(await page.evaluate<number>('document.documentElement.scrollHeight')).toBeLessThan(8000);
  }));

test('“buy credits” is large enough for a finger at every width', () =>
  browsing.inBrowser({}, async (page) => {
    await browsing.enter(page.context());
    for (const path of ['', '/credits'])
      for (const width of [360, 768, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        await page.goto(dashboard(path));
        const box = await page.locator('.buy').first().boundingBox();
        expect(box!.height).toBeGreaterThanOrEqual(24);
      }
  }));

test('a new account’s plot has no days to come, and credits on A4 paper are a table', () =>
  browsing.inBrowser({ timezoneId: 'UTC' }, async (page) => {
    const { accountId } = await browsing.enter(page.context());
    await fillAccount(service, accountId);
    await service.sql`DELETE FROM daily_calls WHERE account_id = ${accountId} AND day < (now() AT TIME ZONE 'UTC')::date`;
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
