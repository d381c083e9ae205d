/** Pages of settings and of sign-in in a real browser; every-page.ts has axe look at every page of them. */
import { afterAll, expect, test } from 'bun:test';
import { ALL_PARTS, startBrowsedDashboard } from '../browser.ts';
import { newPerson } from '../visitor.ts';

const { service, browsing, stop } = await startBrowsedDashboard(ALL_PARTS);
afterAll(stop);

const dashboard = (path = '') => `${service.baseUrl}/dashboard${path}`;

test('on a narrow phone in Portuguese the pages of secrets fit, and axe finds nothing serious', () =>
  browsing.inBrowser({ viewport: { width: 360, height: 740 }, locale: 'pt-PT' }, async (page) => {
    const person = await browsing.enter(page.context());
    await page.goto(dashboard('/settings/second-factor'));
    await page.fill('#present', person.password);
    await page.click('main form button[type=submit]');
    await page.waitForSelector('svg.qr');
    const [code = ''] = (await page.textContent('#backup-codes'))!.split('\n');
    await browsing.inspect(page);
    await service.sql.begin(async (sql) => {
      // Without the trigger that ends the session.
      await sql`SET LOCAL session_replication_role = replica`;
      await sql`UPDATE dashboard_users SET "twoFactorEnabled" = true WHERE "email" = ${person.email}`;
    });
    await page.goto(dashboard('/settings/second-factor/codes'));
    await page.fill('#code', code);
    await page.fill('#present', person.password);
    await page.click('main form button[type=submit]');
    await page.waitForSelector('#backup-codes');
    await browsing.inspect(page);
  }));

test('Back after a form opens its page, also if it was refused once, and after a sign-up', () =>
  browsing.inBrowser({}, async (page) => {
    const person = await browsing.enter(page.context());
    await page.goto(dashboard('/settings/name'));
    await page.fill('#name', ' ');
    await page.click('main form button[type=submit]');
    await page.waitForSelector('#name-fault');
    await page.fill('#name', 'Rita');
    await page.click('main form button[type=submit]');
    await page.waitForURL(dashboard('/settings'));
    await page.goBack();
    expect([page.url(), await page.inputValue('#name')]).toEqual([dashboard('/settings/name'), 'Rita']);

    await page.context().clearCookies();
    await page.goto(dashboard('/forgot'));
    await page.fill('#email', person.email);
    await page.click('main form button[type=submit]');
    await page.waitForSelector('[role=status]');
    await page.click('.below a');
    await page.waitForURL(dashboard('/sign-in'));
    await page.goBack();
    expect(await page.isVisible('#email')).toBe(true);

    await page.goto(dashboard('/sign-up'));
    const { name, email } = newPerson();
    await page.fill('#name', name);
    await page.fill('#email', email);
    await page.click('main form button[type=submit]');
    await page.waitForURL(dashboard('/sign-up/again'));
    await page.reload();
    expect(await page.textContent('.lead')).toContain(email);
  }));
