/** Answers of Try and Screen, accounts without credits and tables of keys at every width, with the longest names. */
import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { changePlan } from '../../src/metering/accounts/changes.ts';
import { grantCredits } from '../../src/metering/accounts/grant.ts';
import { createKey } from '../../src/metering/keys/key-store.ts';
import { importBrackets } from '../companies/debts/support.ts';
import { createCommandLine } from '../support/command.ts';
import { csv, nif } from '../support/companies.ts';
import { createFolder } from '../support/folder.ts';
import { ALL_PARTS, startBrowsedDashboard } from './browser.ts';
import { faultsOfWidth } from './faults-of-width.ts';
import { LONG } from './full-account.ts';
import { storeCalls } from './service.ts';

const { service, browsing, stop } = await startBrowsedDashboard(ALL_PARTS);
afterAll(() => stop());

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
    expect(await faultsOfWidth(page, 'Try')).toEqual([]);
    await browsing.inspect(page);
    await page.goto(`${service.baseUrl}/dashboard/screen`);
    await page.fill('#list', [1, 2, 3].map(nif).join(' '));
    await page.click('form.card .actions button');
    await page.click('button[name=price]');
    await page.waitForSelector('#answer-title');
    expect(await faultsOfWidth(page, 'Screen')).toEqual([]);
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
    await page.goto(`${service.baseUrl}/dashboard`);
    await page.click('#calls .under summary');
    await browsing.inspect(page);
    const heights = await page.evaluate<number[]>(`
      [...document.querySelectorAll('.numbers tbody th')].map((cell) => cell.getBoundingClientRect().height)`);
    expect(heights.length).toBe(6);
    expect(Math.max(...heights)).toBeLessThan(45);
  }));
