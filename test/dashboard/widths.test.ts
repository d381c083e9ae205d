/** Every page at every width, in both languages, with the longest names: nothing scrolls sideways, and no word falls apart. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { invite } from '../../src/dashboard/account/invitations.ts';
import { ROUTES } from '../../src/dashboard/routes.ts';
import { changePlan } from '../../src/metering/accounts/changes.ts';
import { grantCredits } from '../../src/metering/accounts/grant.ts';
import { rotateKey } from '../../src/metering/keys/rotate.ts';
import { createKey, revokeKey } from '../../src/metering/keys/store.ts';
import { startBrowsedDashboard } from './browser.ts';
import { storeCalls } from './service.ts';
import { acceptAs } from './visitor.ts';

setDefaultTimeout(120_000);

const WIDTHS = [320, 360, 412, 480, 640, 641, 768, 929, 1000, 1057, 1280, 1920];
const LONG = 'n'.repeat(200);
const WORDS = 'serviço de faturação da empresa '.repeat(6).trim();

const { service, browsing, stop } = await startBrowsedDashboard({
  CONTACT: 'mailto:ajuda@example.com',
  BUY_URL: 'https://shop.example.com/{account}',
});
afterAll(() => stop());

/** The faults of a page: boxes that are wider than their place, and words of up to 12 characters that are broken over lines. */
const FAULTS = `(() => {
  const faults = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) faults.push('the page is ' + (root.scrollWidth - root.clientWidth) + ' px too wide');
  for (const box of document.querySelectorAll('.card, .notice, .badge, nav, header'))
    if (box.scrollWidth > box.clientWidth + 1) faults.push(box.className + ' is ' + (box.scrollWidth - box.clientWidth) + ' px too wide');
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (texts.nextNode()) {
    const text = texts.currentNode;
    range.selectNodeContents(text);
    if (range.getClientRects().length < 2) continue;
    for (const { 0: word, index } of text.data.matchAll(/(?<![^\\s-])[+(\\p{L}\\p{N}][^\\s-]*/gu)) {
      // A pattern is no word.
      if (word.length > 12 || word.includes('[')) continue;
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1)
        faults.push(word + ' is broken in ' + text.parentElement.outerHTML.slice(0, 80));
    }
  }
  return faults.slice(0, 3);
})()`;

/** An account with everything that can be long. @returns the id of a key */
async function fill(accountId: string): Promise<string> {
  const { sql } = service;
  await changePlan(sql, accountId, 'plus', { until: new Date('2099-01-31T10:00:00Z') }, 'test');
  const inTwoDays = new Date(Date.now() + 2 * 86_400_000);
  const ids: string[] = [];
  for (let index = 0; index < 9; index += 1) {
    const name = [LONG, WORDS, 'produção'][index % 3]!;
    const { id } = await createKey(sql, accountId, name, 'test', index < 6 ? inTwoDays : null);
    ids.push(id);
    if (index < 3) await rotateKey(sql, id, 86_400, 'test');
    await storeCalls(sql, accountId, [{ daysAgo: index, keyId: id, kind: 'search', calls: 1_234_567 }]);
  }
  await revokeKey(sql, ids[8]!, 'test');
  await sql`UPDATE api_keys SET expires_at = now() - interval '1 hour' WHERE id = ANY (${ids.slice(3, 6)})`;
  await sql`
    INSERT INTO daily_error_answers (account_id, day, key_id, kind, calls)
    VALUES (${accountId}, (now() AT TIME ZONE 'UTC')::date, ${ids[0]!}, '4xx', 1234567)`;
  for (const note of [LONG, WORDS]) {
    await grantCredits(
      sql,
      accountId,
      { credits: 4_147_483_647, note, reference: `FT 2026 ${note.slice(0, 60)}` },
      'test',
    );
    await sql`UPDATE balances SET credits = credits - 187 WHERE account_id = ${accountId}`;
  }
  const email = `${'m'.repeat(60)}@${accountId.slice(4)}${'x'.repeat(40)}.example.com`;
  const { token } = await invite(sql, { accountId, email }, 'test');
  await acceptAs(service.baseUrl, token, LONG);
  await sql`UPDATE accounts SET name = ${LONG} WHERE id = ${accountId}`;
  // All included credits are used, so that each page has its longest notice.
  await sql`UPDATE balances SET used = 5000, spend_purchased = false WHERE account_id = ${accountId}`;
  return ids[0]!;
}

async function walk(page: Page, paths: string[]): Promise<string[]> {
  const faults: string[] = [];
  for (const path of paths) {
    await page.goto(service.baseUrl + path);
    await page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true");
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      for (const fault of await page.evaluate<string[]>(FAULTS)) faults.push(`${path} at ${width}: ${fault}`);
    }
  }
  return faults;
}

const ofVisitors = Object.entries(ROUTES).flatMap(([path, route]) =>
  route.for === 'anyone' && route.GET !== undefined ? `/dashboard${path}` : [],
);
const ofMembers = Object.entries(ROUTES).flatMap(([path, route]) =>
  route.for === 'member' && route.GET !== undefined && !/\.\w+$/.test(path) ? path : [],
);

for (const locale of ['en-GB', 'pt-PT'])
  test(`no page scrolls sideways, and no word is broken, from 320 to 1920 px (${locale})`, async () => {
    await browsing.inBrowser({ locale, timezoneId: 'America/New_York' }, async (page) => {
      expect(await walk(page, [...ofVisitors, '/openapi', '/problems/unauthorized'])).toEqual([]);
      const { accountId } = await browsing.enter(page.context());
      const keyId = await fill(accountId);
      const members = await service.sql<{ id: string }[]>`
        SELECT user_id AS id FROM dashboard_members WHERE account_id = ${accountId} ORDER BY user_id LIMIT 1`;
      const paths = ofMembers.map((path) =>
        path.replace(':id', path.startsWith('/keys') ? keyId : members[0]!.id),
      );
      expect(
        await walk(
          page,
          [...paths, '?by=key'].map((path) => `/dashboard${path}`),
        ),
      ).toEqual([]);
    });
  });

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
    await page.click('summary');
    await browsing.inspect(page);
    const heights = await page.evaluate<number[]>(`
      [...document.querySelectorAll('.numbers tbody th')].map((cell) => cell.getBoundingClientRect().height)`);
    expect(heights.length).toBe(6);
    expect(Math.max(...heights)).toBeLessThan(45);
  }));
