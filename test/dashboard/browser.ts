import { existsSync } from 'node:fs';
import chromium from '@sparticuz/chromium';
import { type Browser, chromium as playwright } from 'playwright-core';

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
  const executablePath = packaged ? await chromium.executablePath() : SYSTEM_BROWSERS.find(existsSync);
  if (executablePath === undefined) throw new Error('no Chromium here: install one, as /usr/bin/chromium');
  // Not the package's own flags: one process for everything, as in a cloud function, ends with its first context. Chromium
  // has no sandbox where the tests run as root.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return playwright.launch({
    executablePath,
    headless: true,
    args: [...args, '--disable-gpu', '--font-render-hinting=none'],
  });
}
