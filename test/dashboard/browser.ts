import { expect } from 'bun:test';
import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, type BrowserContext, type Page, chromium as playwright } from 'playwright-core';
import type { TestService } from '../support/service.ts';
import { packagedChromium } from './chromium.ts';
import { startDashboardService } from './service.ts';
import { createMember } from './visitor.ts';

/** Where a system's own Chromium is found: the packaged one is for x64 Linux alone. */
const SYSTEM_BROWSERS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** Starts a real Chromium: the one that comes with the package where it runs, otherwise the system's. */
export async function launchBrowser(): Promise<Browser> {
  const packaged = process.platform === 'linux' && process.arch === 'x64';
  const executablePath = packaged ? await packagedChromium() : SYSTEM_BROWSERS.find(existsSync);
  if (executablePath === undefined) throw new Error('no Chromium here: install one, as /usr/bin/chromium');
  // The package's own flags are for a cloud function: a single process, which ends with its first context. As root, Chromium has
  // no sandbox.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return playwright.launch({
    executablePath,
    headless: true,
    args: [...args, '--disable-gpu', '--font-render-hinting=none'],
  });
}

/** A script that opens all folded parts of a page, but no menu of the bar. */
const OPEN_DETAILS = `for (const details of document.querySelectorAll('details:not([name])')) details.open = true`;

const FAULTS = `(async () => {
  const { violations } = await axe.run({ resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } });
  const serious = violations.filter(({ impact }) => impact !== 'minor');
  const { clientWidth, scrollWidth } = document.documentElement;
  const unreachable = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), summary')]
    .filter((element) => element.tabIndex < 0 && element.getAttribute('aria-hidden') !== 'true' && element.checkVisibility());
  return [
    ...serious.map(({ id, nodes }) => id + ' at ' + nodes.map(({ html }) => html).join(' ')),
    ...(scrollWidth === clientWidth ? [] : ['it is ' + (scrollWidth - clientWidth) + ' px too wide']),
    ...unreachable.map(({ outerHTML }) => 'no keyboard reaches ' + outerHTML),
  ];
})()`;

type Member = Awaited<ReturnType<typeof createMember>>;

/** A real browser for the pages of one service. */
async function openBrowser(service: TestService) {
  const browser = await launchBrowser();
  const dashboard = (path = '') => `${service.baseUrl}/dashboard${path}`;

  /** Runs in a new browser, and fails when a page breaks its Content-Security-Policy or throws. */
  async function inBrowser(
    options: Parameters<Browser['newContext']>[0],
    visit: (page: Page) => Promise<void>,
  ) {
    const context = await browser.newContext({ locale: 'en-GB', ...options });
    try {
      const page = await context.newPage();
      page.setDefaultTimeout(15_000);
      const problems: string[] = [];
      page.on('pageerror', (error) => problems.push(error.message));
      page.on('console', (message) => {
        if (message.type() === 'error' && !/status of (?:4\d\d)/.test(message.text()))
          problems.push(message.text());
      });
      await visit(page);
      expect(problems).toEqual([]);
    } finally {
      await context.close();
    }
  }

  /** Gives the browser the session of a member, or of a new one. */
  async function enter(context: BrowserContext, known?: Member) {
    const member = known ?? (await createMember(service));
    await context.addCookies(
      [...member.visitor.cookies].map(([name, value]) => ({ name, value, url: dashboard() })),
    );
    return member;
  }

  /**
   * Opens all folded parts of a page, but no menu of the bar. Its faults: those of axe that are not minor, a page that is wider than its
   * window, and elements that can't be reached by keyboard.
   */
  async function faultsOf(page: Page): Promise<string[]> {
    await page.evaluate(OPEN_DETAILS);
    // Through the debugger, not as a script of the page: its Content-Security-Policy would not let it in.
    if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axe.source);
    const found = await page.evaluate<string[]>(FAULTS);
    return found.map((fault) => `${page.url()}: ${fault}`);
  }

  /** Fails if the page has faults. @param path without it, the page as it is */
  async function inspect(page: Page, path?: string): Promise<void> {
    if (path !== undefined) await page.goto(dashboard(path));
    expect(await faultsOf(page)).toEqual([]);
  }

  return { inBrowser, enter, faultsOf, inspect, close: () => browser.close() };
}

/** With these variables pages have all of their parts. Nothing is sent. */
export const ALL_PARTS = {
  CONTACT: 'mailto:ajuda@example.com',
  BUY_URL: 'https://shop.example.com/{account}',
  SMTP_URL: 'smtp://127.0.0.1:9',
};

/** `startDashboardService` with a real browser. */
export async function startBrowsedDashboard(env: Record<string, string> = {}) {
  const service = await startDashboardService(env);
  const browsing = await openBrowser(service);
  const stop = async () => {
    await browsing.close();
    await service.stop();
  };
  return { service, browsing, stop };
}
