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

export interface Browsing {
  /** Runs in a new browser, and fails when a page breaks its Content-Security-Policy or throws. */
  inBrowser(
    options: Parameters<Browser['newContext']>[0],
    visit: (page: Page) => Promise<void>,
  ): Promise<void>;
  /** Gives the browser the session of a new member. */
  enter(context: BrowserContext): ReturnType<typeof createMember>;
  /**
   * Opens all folded parts, but no menu of the bar. Fails if axe finds a fault that is not minor, the page is wider than the window, or an element can't be
   * reached by keyboard.
   * @param path without it, the page as it is
   */
  inspect(page: Page, path?: string): Promise<void>;
  close(): Promise<void>;
}

/** A real browser for the pages of one service. */
export async function openBrowser(service: TestService): Promise<Browsing> {
  const browser = await launchBrowser();
  const dashboard = (path = '') => `${service.baseUrl}/dashboard${path}`;

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

  async function enter(context: BrowserContext) {
    const member = await createMember(service);
    await context.addCookies(
      [...member.visitor.cookies].map(([name, value]) => ({ name, value, url: dashboard() })),
    );
    return member;
  }

  async function inspect(page: Page, path?: string): Promise<void> {
    if (path !== undefined) await page.goto(dashboard(path));
    const where = `${page.url()} (${await page.title()})`;
    const openAll = `for (const details of document.querySelectorAll('details:not([name])')) details.open = true`;
    await page.evaluate(openAll);
    // Through the debugger, not as a script of the page: its Content-Security-Policy would not let it in.
    await page.evaluate(axe.source);
    const found = await page.evaluate<{ id: string; impact: string; nodes: { html: string }[] }[]>(
      "axe.run({ resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } }).then(({ violations }) => violations)",
    );
    const serious = found.filter(({ impact }) => impact !== 'minor');
    expect([where, serious.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])]).toEqual([
      where,
      [],
    ]);

    const { clientWidth, scrollWidth } = await page.evaluate<{ clientWidth: number; scrollWidth: number }>(
      '({ clientWidth: document.documentElement.clientWidth, scrollWidth: document.documentElement.scrollWidth })',
    );
    expect([where, scrollWidth]).toEqual([where, clientWidth]);

    const unreachable = await page.evaluate<string[]>(`
      [...document.querySelectorAll('a[href], button, input:not([type=hidden]), summary')]
        .filter((element) => element.tabIndex < 0 && element.getAttribute('aria-hidden') !== 'true' && element.checkVisibility())
        .map((element) => element.outerHTML)`);
    expect([where, unreachable]).toEqual([where, []]);
  }

  return { inBrowser, enter, inspect, close: () => browser.close() };
}

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
