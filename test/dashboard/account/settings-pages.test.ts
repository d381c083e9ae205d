/** The forms of the settings in a real browser, with and without scripts; every-page.ts has axe look at every page of them. */
import { afterAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { createUser } from '../../../src/dashboard/account/invitations.ts';
import { openBrowser } from '../browser.ts';
import { startDashboardService } from '../service.ts';
import { startMailServer } from '../smtp.ts';
import { createMember, createVisitor, linkTo, newPerson, type Person } from '../visitor.ts';

const mail = await startMailServer();
const service = await startDashboardService({ SMTP_URL: mail.url, CONTACT: 'mailto:ajuda@example.com' });
const browsing = await openBrowser(service);
afterAll(async () => {
  await browsing?.close();
  await service?.stop();
  await mail?.stop();
});

const dashboard = (path = '') => `${service.baseUrl}/dashboard${path}`;

/** An account with two members; the first signs in with the page's browser, and once elsewhere. */
async function enter(page: Page) {
  const { accountId, ...person } = await createMember(service);
  const other = newPerson('Rui Figueiredo de Albuquerque');
  await createUser(service.sql, accountId, other, 'cli:operator');
  await createVisitor(service.baseUrl).submit('/dashboard/sign-in', { ...other });
  await signIn(page, person);
  const [rui] = await service.sql`SELECT "id" FROM dashboard_users WHERE "email" = ${other.email}`;
  return { accountId, person, other: { id: rui!.id as string, ...other } };
}

async function signIn(page: Page, { email, password }: Person) {
  await page.goto(dashboard('/sign-in'));
  await page.fill('#email', email);
  await page.fill('#password', password);
  await Promise.all([page.waitForURL(dashboard()), page.click('main button[type=submit]')]);
}

/** Sends the only form of the page's main part. */
async function send(page: Page, path: string) {
  await Promise.all([page.waitForURL(dashboard(path)), page.click('main form button[type=submit]')]);
}

for (const javaScriptEnabled of [true, false]) {
  const name = `${javaScriptEnabled ? 'with' : 'without'} scripts`;
  test(`name, email, sessions and members are changed ${name}`, () =>
    browsing.inBrowser({ javaScriptEnabled }, async (page) => {
      const { person, other } = await enter(page);
      await page.goto(dashboard('/settings'));
      await page.click('a[aria-label="Change names"]');
      await page.fill('#name', 'Livraria Moreira');
      await send(page, '/settings?done=saved');
      expect(await page.textContent('dl.facts')).toContain('Livraria Moreira');

      await page.click('a[aria-label="Change the email"]');
      const { email } = newPerson();
      await page.fill('#email', email);
      await page.fill('#present', 'not the password');
      await page.click('main form button[type=submit]');
      expect(await page.textContent('#present-fault')).toBe('The current password is wrong.');
      expect(await page.inputValue('#email')).toBe(email);
      await page.fill('#present', person.password);
      await send(page, '/settings?done=email');
      await page.goto(service.baseUrl + (await linkTo(mail, email)));
      await send(page, '/settings?done=email-changed');
      expect(await page.textContent('dl.facts')).toContain(email);

      expect(await page.locator('#sessions tbody tr').count()).toBe(2);
      await Promise.all([page.waitForURL(dashboard('/settings?done=ended')), page.click('#sessions button')]);
      expect(await page.locator('#sessions tbody tr').count()).toBe(1);

      await page.goto(dashboard('/settings'));
      await page.click('text=Members');
      await page.click(`a[aria-label="Remove: ${other.email}"]`);
      await page.fill('#present', person.password);
      await send(page, '/settings/members?done=removed');
      expect(await page.locator('tbody tr').count()).toBe(1);

      await page.goto(dashboard('/settings/history'));
      const changes = await page.locator('td[data-label=Event]').allTextContents();
      expect(changes.slice(0, 4)).toEqual([
        'Member removed',
        'Signed out on other devices',
        'Email changed',
        'Name changed',
      ]);
    }));
}

test('on a narrow phone in Portuguese the pages of secrets fit, and axe finds nothing serious', () =>
  browsing.inBrowser({ viewport: { width: 360, height: 740 }, locale: 'pt-PT' }, async (page) => {
    const { person } = await enter(page);
    await page.goto(dashboard('/settings/second-factor/set-up'));
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
    const { person } = await enter(page);
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
    const { name, email, password } = newPerson();
    for (const [field, value] of Object.entries({ name, email, password }))
      await page.fill(`#${field}`, value);
    await page.click('main form button[type=submit]');
    await page.waitForURL(dashboard('/sign-up/again'));
    await page.reload();
    expect(await page.textContent('.lead')).toContain(email);
  }));
