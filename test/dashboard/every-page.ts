import { afterAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
// `bun run check` makes this walk after a change of what all pages share, not of what only one has.
import '../../src/dashboard/request/layout.ts';
import '../../src/dashboard/ui/assets.ts';
import '../../src/dashboard/ui/assets/dashboard.css' with { type: 'text' };
import '../../src/dashboard/ui/html.ts';
import { ALL_PARTS, faultsOfWidth, startBrowsedDashboard } from './browser.ts';
import { authorizePath, connectAgent, registerAgent } from './connections/agent.ts';
import { fillAccount, LONG, memberPages, VISITOR_PAGES } from './full-account.ts';
import { createMember } from './visitor.ts';

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
 * Visits every page in one language, with the longest names, and tests its layout and its accessibility: at 360 px the bar has one row
 * and a page of a member begins within 200 px, no page scrolls sideways or breaks a word from 320 to 1920 px, axe finds nothing serious,
 * and wide spacing of text breaks nothing. Each language has a file, so that both run side by side.
 *
 * @param axeWidths the width changes no colour, and the scheme no box: so each is inspected in one language
 */
export async function testEveryPage(locale: string, colorScheme: 'light' | 'dark', axeWidths: number[]) {
  const { service, browsing, stop } = await startBrowsedDashboard({ ...ALL_PARTS, OAUTH_REGISTRATION: 'on' });
  afterAll(() => stop());
  const member = await createMember(service);
  const pages = await memberPages(service, member.accountId, await fillAccount(service, member.accountId));
  const menus = locale === 'en-GB' ? [ACCOUNT_MENU, PAGES_MENU] : [PAGES_MENU, ACCOUNT_MENU];

  /** @param menu of the bar that is open on a phone */
  async function expectNoFaults(page: Page, menu?: string): Promise<void> {
    const faults: string[] = [];
    const look = async (script: string, width: number) => {
      await page.setViewportSize({ width, height: 800 });
      for (const fault of await page.evaluate<string[]>(script)) faults.push(`at ${width}: ${fault}`);
    };
    if (menu) await look(BEGINNING, PHONE);
    faults.push(...(await faultsOfWidth(page, 'it')));
    for (const width of axeWidths) {
      await page.setViewportSize({ width, height: 740 });
      if (menu)
        await page.evaluate(`document.querySelector('${width > PHONE ? ACCOUNT_MENU : menu}').open = true`);
      faults.push(...(await browsing.faultsOf(page)));
    }
    if (menu) await look(SPACED, DESKTOP);
    expect(faults).toEqual([]);
  }

  const inBrowser = (visit: (page: Page) => Promise<void>) =>
    browsing.inBrowser({ locale, colorScheme, timezoneId: 'America/New_York' }, async (page) => {
      await page.setViewportSize({ width: PHONE, height: 740 });
      await visit(page);
    });

  describe(`${locale}, ${colorScheme}, axe at ${axeWidths} px: no fault of`, () => {
    test.each(VISITOR_PAGES)('%s', (path) =>
      inBrowser(async (page) => {
        await page.goto(service.baseUrl + path);
        await expectNoFaults(page);
      }),
    );

    // On each page one menu is open in one language, and the other in the other one.
    const withMenus = pages.map(([route, path], index) => [route, path, menus[index % 2]] as const);
    test.each(withMenus)('/dashboard%s', (_, path, menu) =>
      inBrowser(async (page) => {
        await browsing.enter(page.context(), member);
        await page.goto(`${service.baseUrl}/dashboard${path}`);
        await expectNoFaults(page, menu);
      }),
    );

    test('the consent that an agent asks for, and its connection', () =>
      inBrowser(async (page) => {
        await browsing.enter(page.context(), member);
        await page.goto(service.baseUrl + authorizePath(await registerAgent(service, { name: LONG })));
        await expectNoFaults(page);
        await connectAgent(service, member);
        const [key] = await service.sql<{ id: string }[]>`
          SELECT id FROM api_keys WHERE account_id = ${member.accountId} AND is_connection`;
        await page.goto(`${service.baseUrl}/dashboard/keys/${key!.id}`);
        await expectNoFaults(page);
      }));
  });
}
