/**
 * `bun test/dashboard/screenshots.ts [FOLDER]`: takes the pictures of the dashboard that docs/screenshots holds, on an embedded
 * separate Postgres with the example directory and made-up calls. Not a test: run it when the pages have changed.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { grantCredits } from '../../src/accounts/grant.ts';
import { createAccount } from '../../src/accounts/store.ts';
import { readConfig } from '../../src/config/config.ts';
import { createUser } from '../../src/dashboard/auth/invitations.ts';
import { NEVER_ABORTED } from '../../src/directory/context.ts';
import { importCompanies } from '../../src/directory/import.ts';
import { rowSource } from '../../src/ingest/source.ts';
import { createKey } from '../../src/keys/store.ts';
import { createLogTo } from '../../src/observability/log.ts';
import type { Sql } from '../../src/postgres/connect.ts';
import { startService } from '../../src/service/serve.ts';
import { openStores } from '../../src/stores/stores.ts';
import { withProgress } from '../../src/terminal/progress.ts';
import { launchBrowser } from './browser.ts';

const ROOT = join(import.meta.dir, '../..');
const PERSON = {
  name: 'Maria Antunes',
  email: 'maria@livraria-moreira.example',
  password: 'uma palavra longa',
};
const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };

type Scheme = 'light' | 'dark';

const folder = process.argv[2] ?? join(ROOT, 'docs/screenshots');
const dataDir = await mkdtemp(join(tmpdir(), 'screenshots-'));
const config = readConfig({
  PORT: '0',
  DATA_DIR: dataDir,
  REGISTRY: 'none',
  NIF_PT_URL: 'http://127.0.0.1:9/',
});
const stores = await openStores(config);
await mkdir(folder, { recursive: true });
await prepare(stores.sql);
const service = await startService(config, { log: createLogTo({ write: () => {} }) });
const browser = await launchBrowser();
try {
  for (const scheme of ['light', 'dark'] as const) {
    await takeAll(browser, scheme, 'desktop', DESKTOP);
    await takeAll(browser, scheme, 'phone', PHONE);
  }
} finally {
  await browser.close();
  await service.stop();
  await stores.close();
  await rm(dataDir, { recursive: true, force: true });
}
process.exit(0);

async function takeAll(browser: Browser, scheme: Scheme, device: string, viewport: typeof DESKTOP) {
  const context = await browser.newContext({
    viewport,
    colorScheme: scheme,
    locale: device === 'phone' ? 'pt-PT' : 'en-GB',
    deviceScaleFactor: 1,
  });
  const page = await context.newPage();
  const open = (path: string) => page.goto(`${service.publicUrl}/dashboard${path}`);
  const take = async (name: string) => {
    if (!isKept(name, device, scheme)) return;
    await shoot(page, join(folder, `${name}-${device}-${scheme}.png`));
  };
  await open('/sign-in');
  await take('sign-in');
  await page.fill('#email', PERSON.email);
  await page.fill('#password', PERSON.password);
  await page.click('main form button[type=submit]');
  await page.waitForSelector('#calls');
  await take('overview');
  await open('?by=key');
  await take('by-key');
  await open('/keys');
  await take('keys');
  await open('/credits');
  await take('credits');
  await open('/try');
  await page.fill('#q', 'associacao');
  await page.click('button[value=search]');
  await page.waitForSelector('#request');
  await take('try');
  await context.close();
}

/** The overview in every way; the others as a wide light and a narrow dark one. */
function isKept(name: string, device: string, scheme: Scheme): boolean {
  return name === 'overview' || (device === 'desktop') === (scheme === 'light');
}

async function shoot(page: Page, path: string): Promise<void> {
  await page.evaluate('document.fonts.ready');
  await page.screenshot({ path, fullPage: true });
}

async function prepare(sql: Sql): Promise<void> {
  const tools = { ...stores, config, signal: NEVER_ABORTED, actor: 'screenshots' };
  const file = rowSource(join(ROOT, 'examples/companies.csv'));
  await withProgress((progress) => importCompanies(tools, file, {}, progress), NEVER_ABORTED);
  const { id } = await createAccount(
    sql,
    { name: 'Livraria Moreira, Lda', plan: 'plus', periodStart: daysAgo(12) },
    'screenshots',
  );
  await createUser(sql, id, PERSON, 'screenshots');
  await grantCredits(sql, id, { credits: 1000, note: 'Fatura 2026/118', reference: '118' }, 'screenshots');
  await grantCredits(sql, id, { credits: 250, note: 'Goodwill for the outage of 3 November' }, 'screenshots');
  const keys: string[] = [];
  for (const name of ['production', 'nightly import', 'staging']) {
    keys.push((await createKey(sql, id, name, 'screenshots')).id);
  }
  await sql`UPDATE api_keys SET created_at = now() - interval '84 days' WHERE account_id = ${id}`;
  await storeHistory(sql, id, keys);
}

/** Calls as an office's would be: few at weekends, more from month to month. */
async function storeHistory(sql: Sql, accountId: string, keys: string[]): Promise<void> {
  let seed = 7;
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  let used = 0;
  for (let ago = 83; ago >= 0; ago -= 1) {
    const weekend = [0, 6].includes(daysAgo(ago).getUTCDay());
    const busy = (weekend ? 0.25 : 1) * (1 - ago / 130) * (0.6 + random() * 0.8);
    const counts: [string, string, number][] = [
      [keys[0]!, 'search', 24 * busy],
      [keys[0]!, 'lookup', 15 * busy],
      [keys[1]!, 'lookup', ago % 7 === 2 ? 40 * busy : 0],
      [keys[2]!, 'search', weekend ? 0 : 5 * random()],
      ['', 'search', ago % 9 === 0 ? 3 : 0],
    ];
    for (const [key, kind, count] of counts) {
      const calls = Math.round(count);
      if (calls === 0) continue;
      if (ago < 12) used += calls;
      await sql`
        INSERT INTO daily_calls (account_id, day, key_id, kind, calls)
        VALUES (${accountId}, (now() AT TIME ZONE 'UTC')::date - ${ago}::integer, ${key}, ${kind}, ${calls})`;
    }
  }
  await sql`UPDATE balances SET used = ${used} WHERE account_id = ${accountId}`;
}

function daysAgo(days: number): Date {
  return new Date(Date.now() - days * 86_400_000);
}
