/**
 * `bun run screenshots`: takes the pictures in docs/screenshots, on an embedded Postgres with the demo's data and made-up calls.
 * Run it when the pages have changed.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NEVER_ABORTED } from '../src/companies/directory/directory-context.ts';
import { importCompanies } from '../src/companies/directory/directory-import.ts';
import { createUser } from '../src/dashboard/account/invitations.ts';
import { importExampleDebts } from '../src/demo/example-debts.ts';
import { createAccount } from '../src/metering/accounts/account-store.ts';
import { grantCredits } from '../src/metering/accounts/grant.ts';
import { createKey } from '../src/metering/keys/key-store.ts';
import { type Config, readConfig } from '../src/platform/config/config.ts';
import { createLogTo } from '../src/platform/observability/log.ts';
import { openStores, type Stores } from '../src/platform/stores/stores.ts';
import { DAY } from '../src/platform/units.ts';
import { startService } from '../src/service/serve.ts';
import { launchBrowser } from '../test/dashboard/browser.ts';
import { storeCalls } from '../test/dashboard/service.ts';
import { ROOT } from '../test/support/command.ts';
import { NO_PROGRESS } from '../test/support/progress.ts';

const FOLDER = join(ROOT, 'docs/screenshots');
const PERSON = { name: 'Maria', email: 'maria@livraria-moreira.example', password: 'uma palavra longa' };
const DAYS = 84;

// Whatever step fails, all that was opened before it is closed, the latest first, and the folder is removed.
const opened = new AsyncDisposableStack();
try {
  const dataDir = await mkdtemp(join(tmpdir(), 'screenshots-'));
  opened.defer(() => rm(dataDir, { recursive: true, force: true }));
  const config = readConfig({ PORT: '0', DATA_DIR: dataDir, REGISTRY: 'none' });
  const stores = opened.adopt(await openStores(config), (stores) => stores.close());
  await prepare(config, stores);
  const service = await startService(config, { log: createLogTo({ write: () => {} }) });
  opened.defer(() => service.stop());
  const browser = opened.use(await launchBrowser());
  const page = await browser.newPage({
    viewport: { width: 1280, height: 800 },
    colorScheme: 'light',
    locale: 'en-GB',
  });
  const take = async (name: string, fullPage: boolean) => {
    await page.evaluate('document.fonts.ready');
    await page.screenshot({ path: join(FOLDER, `${name}-desktop-light.png`), fullPage });
  };
  const address = `http://127.0.0.1:${service.port}`;
  await page.goto(`${address}/dashboard/sign-in`);
  await page.fill('#email', PERSON.email);
  await page.fill('#password', PERSON.password);
  await page.click('main form button[type=submit]');
  await page.waitForSelector('#calls');
  await take('overview', true);
  await page.goto(`${address}/openapi`);
  await take('reference', false);
} finally {
  await opened.disposeAsync();
}
process.exit(0);

/** An account with two keys and purchased credits. Its calls are as an office's: few at weekends, more from month to month. */
async function prepare(config: Config, stores: Stores): Promise<void> {
  const { sql } = stores;
  const tools = { ...stores, config, signal: NEVER_ABORTED, actor: 'demo' };
  await importCompanies(tools, { path: join(ROOT, 'examples/companies.csv') }, {}, NO_PROGRESS);
  await importExampleDebts(tools, NO_PROGRESS);
  const periodStart = new Date(Date.now() - 12 * DAY);
  const { id } = await createAccount(
    sql,
    { name: 'Livraria Moreira, Lda', plan: 'plus', periodStart },
    'demo',
  );
  await createUser(sql, id, PERSON, 'demo');
  await grantCredits(sql, id, { credits: 1000, note: 'Fatura 2026/118', reference: '118' }, 'demo');
  const production = (await createKey(sql, id, 'production', 'demo')).id;
  const nightly = (await createKey(sql, id, 'nightly import', 'demo')).id;
  for (let daysAgo = DAYS - 1; daysAgo >= 0; daysAgo -= 1) {
    const weekend = [0, 6].includes(new Date(Date.now() - daysAgo * DAY).getUTCDay());
    const busy = (weekend ? 0.25 : 1) * (1 - daysAgo / 130) * (0.7 + 0.3 * Math.sin(daysAgo * 2.3));
    await storeCalls(sql, id, [
      { daysAgo, keyId: production, kind: 'search', calls: Math.ceil(24 * busy) },
      { daysAgo, keyId: nightly, kind: 'lookup', calls: Math.ceil(15 * busy) },
    ]);
  }
  await sql`
    UPDATE balances SET used = (
      SELECT sum(calls) FROM calls_by_day WHERE account_id = ${id} AND day >= (${periodStart} AT TIME ZONE 'UTC')::date
    ) WHERE account_id = ${id}`;
}
