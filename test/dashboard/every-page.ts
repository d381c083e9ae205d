import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
// `bun run check` makes this walk after a change of what all pages share, not of what only one has.
import '../../src/dashboard/request/layout.ts';
import '../../src/dashboard/ui/assets.ts';
import '../../src/dashboard/ui/assets/dashboard.css' with { type: 'text' };
import '../../src/dashboard/ui/parts.ts';
import { ALL_PARTS, startBrowsedDashboard } from './browser.ts';
import { authorizePath, registerAgent } from './connections/agent.ts';
import { faultsOfWidth } from './faults-of-width.ts';
import { fillAccount, LONG, memberPages, VISITOR_PAGES } from './full-account.ts';

const PHONE = 360;
const DESKTOP = 1280;

const ACCOUNT_MENU = '.bar .account';
const PAGES_MENU = '.bar .menu:not(.account)';

const BEGINNING = `(() => {
  const bar = document.querySelector('.bar').getBoundingClientRect().height;
  const first = document.querySelector('main > :not(.printed, .notices)').getBoundingClientRect().top;
  return [bar > 66 && 'the bar is ' + bar + ' px high', first > 200 && 'it begins at ' + first].filter(Boolean);
})()`;

/** The spacing of WCAG 1.4.12. */
const SPACED = `(() => {
  const rows = document.querySelector('.bar').offsetHeight;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important }');
  document.adoptedStyleSheets = [sheet];
  const { scrollWidth, clientWidth } = document.documentElement;
  const bar = document.querySelector('.bar-inner');
  return [rows > 66 && 'the bar has two rows', scrollWidth > clientWidth && 'too wide', bar.scrollWidth > bar.clientWidth && 'the bar is too wide'].filter(Boolean);
})()`;

/**
 * Visits every page once in one language, with the longest names, and tests its layout and its accessibility. Each language has a file,
 * so that both run side by side.
 *
 * @param axeWidths the width changes no colour, and the scheme no box: so each is inspected in one language
 */
export async function testEveryPage(locale: string, colorScheme: 'light' | 'dark', axeWidths: number[]) {
  setDefaultTimeout(120_000);
  const { service, browsing, stop } = await startBrowsedDashboard({ ...ALL_PARTS, OAUTH_REGISTRATION: 'on' });
  afterAll(() => stop());

  const faults = {
    beginning: [] as string[],
    width: [] as string[],
    axe: [] as string[],
    spacing: [] as string[],
  };

  /** @param menu of the bar that is open on a phone: on each page one in one language, and the other in the other one */
  async function visit(page: Page, path: string, menu?: string): Promise<void> {
    const add = async (kind: keyof typeof faults, script: string, width: number) => {
      await page.setViewportSize({ width, height: 800 });
      for (const fault of await page.evaluate<string[]>(script))
        faults[kind].push(`${path} at ${width}: ${fault}`);
    };
    await page.setViewportSize({ width: PHONE, height: 740 });
    await page.goto(service.baseUrl + path);
    if (menu) await add('beginning', BEGINNING, PHONE);
    faults.width.push(...(await faultsOfWidth(page, path)));
    for (const width of axeWidths) {
      await page.setViewportSize({ width, height: 740 });
      if (menu)
        await page.evaluate(`document.querySelector('${width > PHONE ? ACCOUNT_MENU : menu}').open = true`);
      faults.axe.push(...(await browsing.faultsOf(page)));
    }
    if (menu) await add('spacing', SPACED, DESKTOP);
  }

  beforeAll(() =>
    browsing.inBrowser({ locale, colorScheme, timezoneId: 'America/New_York' }, async (page) => {
      for (const path of VISITOR_PAGES) await visit(page, path);
      const { accountId } = await browsing.enter(page.context());
      const paths = await memberPages(service, accountId, await fillAccount(service, accountId));
      for (const [index, path] of [...paths, '?by=key'].entries()) {
        const isEven = index % 2 === 0;
        await visit(page, `/dashboard${path}`, isEven === (locale === 'en-GB') ? ACCOUNT_MENU : PAGES_MENU);
      }
      await page.goto(service.baseUrl + authorizePath(await registerAgent(service, { name: LONG })));
      await visit(page, page.url().slice(service.baseUrl.length));
    }),
  );

  test(`at ${PHONE} px the bar has one row, and each page of a member begins within 200 px (${locale})`, () => {
    expect(faults.beginning).toEqual([]);
  });
  test(`no page scrolls sideways, and no word is broken, from 320 to 1920 px (${locale})`, () => {
    expect(faults.width).toEqual([]);
  });
  test(`axe finds nothing serious on any page, with its menus open (${locale}, ${colorScheme}, ${axeWidths} px)`, () => {
    expect(faults.axe).toEqual([]);
  });
  test(`wide spacing of text breaks no page of a member (${locale})`, () => {
    expect(faults.spacing).toEqual([]);
  });
}
