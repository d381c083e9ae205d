/** Every page at every width, in both languages, with the longest names: nothing scrolls sideways, and no word falls apart. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { changePlan } from '../../src/metering/accounts/changes.ts';
import { grantCredits } from '../../src/metering/accounts/grant.ts';
import { createKey } from '../../src/metering/keys/store.ts';
import { importBrackets } from '../companies/debts/support.ts';
import { createCommandLine } from '../support/command.ts';
import { csv, nif } from '../support/companies.ts';
import { createFolder } from '../support/folder.ts';
import { startBrowsedDashboard } from './browser.ts';
import { fillAccount, LONG, memberPages, VISITOR_PAGES } from './full-account.ts';
import { storeCalls } from './service.ts';

setDefaultTimeout(120_000);

const WIDTHS = [320, 360, 412, 480, 640, 641, 768, 929, 1000, 1057, 1280, 1920];
const { service, browsing, stop } = await startBrowsedDashboard({
  CONTACT: 'mailto:ajuda@example.com',
  BUY_URL: 'https://shop.example.com/{account}',
  // Pages that send mail have further parts. Nothing is sent.
  SMTP_URL: 'smtp://127.0.0.1:9',
});
afterAll(() => stop());

/**
 * The faults of a page: boxes that are wider than their place, and words that are broken over lines, of up to 12 characters, or of
 * up to 24 where tables have columns.
 */
const FAULTS = `(() => {
  const faults = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) faults.push('the page is ' + (root.scrollWidth - root.clientWidth) + ' px too wide');
  for (const box of document.querySelectorAll('.card, .notice, .badge, nav, header'))
    if (box.checkVisibility() && box.scrollWidth > box.clientWidth + 1) faults.push(box.className + ' is ' + (box.scrollWidth - box.clientWidth) + ' px too wide');
  for (const row of document.querySelectorAll('.stacked tr')) {
    const cells = [...row.children].filter((cell) => cell.checkVisibility()).map((cell) => cell.getBoundingClientRect());
    for (const [index, { right, bottom }] of cells.entries())
      if (cells.slice(index + 1).some((other) => other.left < right - 1 && other.top < bottom - 1 && other.right > cells[index].left + 1 && other.bottom > cells[index].top + 1))
        faults.push('cells overlap in ' + row.textContent.trim().slice(0, 40));
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (texts.nextNode()) {
    const text = texts.currentNode;
    range.selectNodeContents(text);
    if (range.getClientRects().length < 2) continue;
    for (const { 0: word, index } of text.data.matchAll(/(?<![^\\s-])[+(\\p{L}\\p{N}][^\\s-]*/gu)) {
      // A pattern is no word.
      if (word.length > (innerWidth > 1056 ? 24 : 12) || word.includes('[')) continue;
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1)
        faults.push(word + ' is broken in ' + text.parentElement.outerHTML.slice(0, 80));
    }
  }
  return faults.slice(0, 3);
})()`;

async function walk(page: Page, paths: string[]): Promise<string[]> {
  const faults: string[] = [];
  for (const path of paths) {
    await page.goto(service.baseUrl + path);
    faults.push(...(await faultsOf(page, path)));
  }
  return faults;
}

/** The faults of a page as it is, at every width. */
async function faultsOf(page: Page, name: string): Promise<string[]> {
  const faults: string[] = [];
  await page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true");
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    for (const fault of await page.evaluate<string[]>(FAULTS)) faults.push(`${name} at ${width}: ${fault}`);
  }
  return faults;
}

for (const locale of ['en-GB', 'pt-PT'])
  test(`no page scrolls sideways, and no word is broken, from 320 to 1920 px (${locale})`, async () => {
    await browsing.inBrowser({ locale, timezoneId: 'America/New_York' }, async (page) => {
      expect(await walk(page, VISITOR_PAGES)).toEqual([]);
      const { accountId } = await browsing.enter(page.context());
      const keyId = await fillAccount(service, accountId);
      const paths = await memberPages(service, accountId, keyId);
      expect(
        await walk(
          page,
          [...paths, '?by=key'].map((path) => `/dashboard${path}`),
        ),
      ).toEqual([]);
    });
  });

test('no answer of Try and Screen has cells over each other, or a button whose name lacks its text', () =>
  browsing.inBrowser({ locale: 'pt-PT' }, async (page) => {
    const names = [
      'Altitude Software – Sistemas e Serviços, S.A.',
      'de Transportes Carrazeda-Vila Flor, Limitada',
      LONG,
    ];
    const file = join(createFolder('widths'), 'companies.csv');
    await Bun.write(
      file,
      csv(1, 7, (n) => `Sociedade ${names[n % 3]}`),
    );
    await createCommandLine(service.databaseUrl).json('companies', 'import', file);
    await importBrackets({ url: service.databaseUrl, sql: service.sql }, { [nif(3)]: [7500, 25_000] });
    await browsing.enter(page.context());
    await page.goto(`${service.baseUrl}/dashboard/try?q=sociedade`);
    await page.click('button[value=search]');
    await page.waitForSelector('.found');
    expect(await faultsOf(page, 'Try')).toEqual([]);
    await browsing.inspect(page);
    await page.goto(`${service.baseUrl}/dashboard/screen`);
    await page.fill('#list', [1, 2, 3].map(nif).join(' '));
    await page.click('form.card .actions button');
    await page.click('button[name=price]');
    await page.waitForSelector('#answer-title');
    expect(await faultsOf(page, 'Screen')).toEqual([]);
    await browsing.inspect(page);
  }));

const PHONE = { viewport: { width: 360, height: 740 }, locale: 'pt-PT' };

test('an account without credits sees what to do, in its window', () =>
  browsing.inBrowser(PHONE, async (page) => {
    const { accountId } = await browsing.enter(page.context());
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
    }
  }));

test('the table of six keys with long names stays in its card, and no date is broken', () =>
  browsing.inBrowser(PHONE, async (page) => {
    const { accountId } = await browsing.enter(page.context());
    await changePlan(service.sql, accountId, 'plus', {}, 'test');
    for (let index = 0; index < 6; index += 1) {
      const name = index === 0 ? 'n'.repeat(200) : `serviço de faturação ${index}`;
      const { id } = await createKey(service.sql, accountId, name, 'test');
      await storeCalls(service.sql, accountId, [
        { daysAgo: index, keyId: id, kind: 'search', calls: 12_345 },
      ]);
    }
    await page.goto(`${service.baseUrl}/dashboard?by=key`);
    await page.click('#calls .under summary');
    await browsing.inspect(page);
    const heights = await page.evaluate<number[]>(`
      [...document.querySelectorAll('.numbers tbody th')].map((cell) => cell.getBoundingClientRect().height)`);
    expect(heights.length).toBe(6);
    expect(Math.max(...heights)).toBeLessThan(45);
  }));
