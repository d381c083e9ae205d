import { expect } from 'bun:test';
import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, type BrowserContext, type Page, chromium as playwright } from 'playwright-core';
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
  const ringless = [document.activeElement].filter(
    (element) => element.matches('[autofocus]') && getComputedStyle(element).outlineStyle === 'none',
  );
  return [
    ...serious.map(({ id, nodes }) => id + ' at ' + nodes.map(({ html }) => html).join(' ')),
    ...(scrollWidth === clientWidth ? [] : ['it is ' + (scrollWidth - clientWidth) + ' px too wide']),
    ...unreachable.map(({ outerHTML }) => 'no keyboard reaches ' + outerHTML),
    ...ringless.map(({ outerHTML }) => 'nobody sees the focus on ' + outerHTML),
    ...[...document.querySelectorAll('[download]:not([href^="data:"])')].map(({ href }) => 'a refusal would be no page: ' + href),
  ];
})()`;

type Member = Awaited<ReturnType<typeof createMember>>;
type BrowserOptions = Parameters<Browser['newContext']>[0];

/** `startDashboardService` with a real browser for its pages. */
export async function startBrowsedDashboard(env: Record<string, string> = {}) {
  const service = await startDashboardService(env);
  const browser = await launchBrowser();
  const dashboard = (path = '') => `${service.baseUrl}/dashboard${path}`;

  /** Runs in a new browser, and fails when a page breaks its Content-Security-Policy or throws. */
  async function inBrowser(options: BrowserOptions, visit: (page: Page) => Promise<void>) {
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

  /** `inBrowser` with the session of a new member, at a page of the dashboard. */
  const asMember = (
    { path = '', ...options }: BrowserOptions & { path?: string },
    visit: (page: Page, member: Member) => Promise<void>,
  ) =>
    inBrowser(options, async (page) => {
      const member = await enter(page.context());
      await page.goto(dashboard(path));
      await visit(page, member);
    });

  /**
   * Opens all folded parts of a page, but no menu of the bar. Its faults: those of axe that are not minor, a page that is wider than its
   * window, elements that can't be reached by keyboard, a focus that
   * can't be seen, and links that make a file of a refusal.
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

  const stop = async () => {
    await browser.close();
    await service.stop();
  };
  return { service, dashboard, browsing: { inBrowser, asMember, enter, faultsOf, inspect }, stop };
}

/** With these variables pages have all of their parts. Nothing is sent. */
export const ALL_PARTS = {
  CONTACT: 'mailto:ajuda@example.com',
  BUY_URL: 'https://shop.example.com/{account}',
  SMTP_URL: 'smtp://127.0.0.1:9',
};

const WIDTHS = [320, 360, 412, 480, 640, 641, 768, 929, 1000, 1057, 1280, 1920];

/**
 * The faults of a page: boxes and cells that are too narrow for what they hold, and words that are broken over lines, of up to 12
 * characters, or of up to 24 where tables have columns.
 */
const WIDTH_FAULTS = `(() => {
  const faults = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) faults.push('the page is ' + (root.scrollWidth - root.clientWidth) + ' px too wide');
  for (const box of document.querySelectorAll('.card, .notice, .badge, nav, header'))
    if (box.checkVisibility() && box.scrollWidth > box.clientWidth + 1) faults.push(box.className + ' is ' + (box.scrollWidth - box.clientWidth) + ' px too wide');
  for (const cell of document.querySelectorAll('.stacked :is(td, th)'))
    if (cell.checkVisibility() && cell.scrollWidth > cell.clientWidth + 1) faults.push('a cell is too narrow for ' + cell.textContent.trim().slice(0, 40));
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

/** The faults of a page as it is, at every width, with all of its folded parts open. @param name of the page, for the faults */
export async function faultsOfWidth(page: Page, name: string): Promise<string[]> {
  const faults: string[] = [];
  await page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true");
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    for (const fault of await page.evaluate<string[]>(WIDTH_FAULTS))
      faults.push(`${name} at ${width}: ${fault}`);
  }
  return faults;
}
