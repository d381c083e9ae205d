import { afterAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { createKey } from '../../src/metering/keys/key-store.ts';
import { rotateKey } from '../../src/metering/keys/rotate.ts';
import { nif } from '../support/companies.ts';
import { until } from '../support/until.ts';
import { startBrowsedDashboard } from './browser.ts';
import { authorizePath, callTool, exchange, registerAgent } from './connections/agent.ts';
import { memberPages } from './full-account.ts';
import { usedBy } from './service.ts';
import { createMember, createVisitor, formTokenOf, newPerson } from './visitor.ts';

const { service, dashboard, browsing, stop } = await startBrowsedDashboard({ OAUTH_REGISTRATION: 'on' });
afterAll(() => stop());
const { inBrowser, asMember, inspect } = browsing;

const CLIPBOARD = ['clipboard-read', 'clipboard-write'];
const figure = async (page: Page, name: string) =>
  Number((await page.textContent(`[data-figure=${name}]`))!.replace(/[^\d]/g, ''));

const statusOf = async (path: string, key: string) =>
  (await fetch(service.url + path, { headers: { Authorization: `Bearer ${key}` } })).status;

test('sign up, create a key, use it, see the count and the plot move, revoke it, be refused', () =>
  inBrowser({ permissions: CLIPBOARD }, async (page) => {
    const person = newPerson('Oficina do Porto');
    await page.goto(dashboard());
    await page.click('text=Create an account');
    await page.fill('#name', person.name);
    await page.fill('#email', person.email);
    await page.fill('#password', person.password);
    await page.click('button:has-text("Create an account")');
    await page.waitForURL(dashboard());
    expect(await page.textContent('.account strong')).toBe('Oficina do Porto');
    expect(await page.locator('.plot').count()).toBe(0);
    expect(await page.isVisible('text=Nothing on these days')).toBe(true);

    await page.click('text=Create an API key');
    await page.fill('#name', 'production');
    await page.click('button:has-text("Create key")');
    const secret = (await page.textContent('#new-secret'))!;
    expect(secret).toMatch(/^svc_[a-z2-7]{40}$/);
    // The focus is where the news is.
    expect(await page.evaluate<boolean>(`document.activeElement.matches('.new-key')`)).toBe(true);
    await inspect(page);
    await page.click('[data-copy=new-secret]');
    await page.waitForSelector('button:has-text("Copied")');
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(secret);

    // A reload asks for the list again: it neither creates a second key nor shows the secret.
    await page.reload();
    expect(page.url()).toBe(dashboard('/keys'));
    expect(await page.textContent('[data-figure=quota]')).toBe('1 of 2 in use');
    expect(await page.content()).not.toContain(secret);

    for (const path of ['/companies?q=a', '/companies?q=b', '/companies?q=c', '/companies/123'])
      await statusOf(path, secret);
    await page.click('nav >> text=Overview');
    expect(await figure(page, 'used')).toBe(4);
    expect(await page.textContent('.plot title')).toMatch(/: 4\nSearches: 3\nLookups: 1$/);
    expect(await barHeights(page)).toEqual([3, 1]);

    await page.click('nav >> text=Try it');
    await page.fill('#q', 'anything');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#request');
    await page.goto(dashboard());
    expect(await figure(page, 'used')).toBe(5);

    await page.click('nav >> text=API keys');
    await page.click('.list a:has-text("production")');
    await page.click('main a:has-text("Revoke")');
    await page.waitForSelector('main h1:text-is("Revoke “production”?")');
    await page.click('text=Revoke this key');
    await page.waitForSelector('.notice.good:focus:has-text("The key is revoked.")');
    await inspect(page);
    await until('the refusal', async () => (await statusOf('/usage', secret)) === 401);

    await page.click('.account summary');
    await page.click('text=Sign out');
    await page.waitForSelector('text=You are signed out.');
    expect(page.url()).toBe(dashboard('/sign-in'));
    await page.goBack();
    await page.waitForURL(/\/sign-in(\?to=.*)?$/);
  }));

test('a file is read in the browser, its NIFs are screened for the price that was shown, and the result is a CSV', () =>
  asMember({ path: '/screen', acceptDownloads: true }, async (page) => {
    const rows = `Fornecedor;NIPC;Telefone\n"Padaria; Central";${nif(1)};+351 2\n"Talho 2";${nif(2)};\n`;
    await page.setInputFiles('#file', { name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from(rows) });
    await page.waitForFunction(`document.getElementById('list').value !== ''`);
    // A workbook is refused by its name, and changes nothing.
    expect(await page.isVisible('[data-workbook]')).toBe(false);
    await page.setInputFiles('#file', { name: 'a.xlsx', mimeType: 'x/y', buffer: Buffer.from('PK') });
    await page.waitForSelector('[data-workbook]:visible');
    expect(await page.inputValue('#list')).toBe(rows);
    await page.click('button:has-text("Read the list")');
    await page.waitForSelector('text=2 companies cost 2 credits.');
    await inspect(page);
    await page.click('button:has-text("Screen 2 companies")');
    await page.waitForSelector('text=On a list of debtors: 0 of 2');
    await inspect(page);
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('a[download]')]);
    expect(download.suggestedFilename()).toBe('debts.csv');
    expect(await Bun.file(await download.path()).text()).toMatch(/^.*\r\n2,.*\r\n3,/);
    // A reload shows the result again, and is not charged.
    await page.reload();
    await page.waitForSelector('text=No credit spent: this list was charged before');
    await page.waitForSelector('text=On a list of debtors: 0 of 2');
    expect(await page.textContent('.lead')).toContain('Credits left: 498');
  }));

test('each question before what can not be undone has the focus on its title; Escape leaves it as its link does', () =>
  asMember({}, async (page, { accountId }) => {
    const { id } = await createKey(service.sql, accountId, 'web', 'test');
    await rotateKey(service.sql, id, 86_400, 'test');
    const asked: string[] = [];
    for (const [route, path] of await memberPages(service, accountId, id)) {
      await page.goto(dashboard(path));
      if ((await page.locator('button.bad').count()) === 0) continue;
      asked.push(route);
      await page.waitForSelector('main h1:focus');
      const back = await page.getAttribute('main .actions a', 'href');
      const leaves = await page.evaluate(`
        let clicks = 0;
        document.querySelector('main .actions a').addEventListener('click', () => (clicks += 1));
        dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', isComposing: true }));
        clicks;`);
      expect(leaves).toBe(0);
      await page.keyboard.press('Escape');
      await page.waitForURL(service.baseUrl + back);
    }
    expect(asked).toEqual([
      '/keys/:id/end-secret',
      '/keys/:id/revoke',
      '/settings/members/:id/remove',
      '/settings/delete',
    ]);
  }));

test('a list that was sent after the session ended is in its field again after the sign-in', () =>
  asMember({ path: '/screen' }, async (page, { email, password, userId }) => {
    await page.fill('#list', `${nif(1)} ${nif(2)}`);
    await service.sql`DELETE FROM dashboard_sessions WHERE "userId" = ${userId}`;
    await page.click('button:has-text("Read the list")');
    await page.waitForSelector('[data-keep]');
    await inspect(page);
    await page.click('main a.button');
    await page.fill('#email', email);
    await page.fill('#password', password);
    await page.click('main button[type=submit]');
    await page.waitForURL(dashboard('/screen'));
    expect(await page.inputValue('#list')).toBe(`${nif(1)} ${nif(2)}`);
    await page.goto(dashboard('/screen'));
    expect(await page.inputValue('#list')).toBe('');
  }));

test('a fault is at its field, which has the focus', () =>
  asMember({}, async (page) => {
    for (const [path, name, text, fault] of [
      ['/settings/name', 'name', ' ', 'Write a name of 1 to 200 characters.'],
      ['/screen', 'list', 'n/d; 12', 'No NIF found'],
      ['/try', 'q', ' ', 'Write a name or a NIF. Nothing was charged.'],
    ] as const) {
      await page.goto(dashboard(path));
      await page.fill(`main [name=${name}]`, text);
      // Without the browser's own checks, as a form that they let through.
      await page.evaluate(`document.querySelector('main form').noValidate = true`);
      await page.click('main form button[type=submit]');
      await page.waitForSelector(`#${name}:focus[aria-invalid=true][aria-describedby^="${name}-fault"]`);
      expect(await page.textContent(`#${name}-fault`)).toStartWith(fault);
    }
  }));

test('on paper there is no navigation and no button; forced colours leave the bars their own', () =>
  asMember({}, async (page) => {
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('nav:visible, button:visible').count()).toBe(0);
    await page.emulateMedia({ media: 'screen', forcedColors: 'active' });
    const colour = await page.evaluate(`getComputedStyle(document.querySelector('.stock-bar rect')).fill`);
    expect(colour).toBe('rgb(15, 122, 105)');
  }));

test("the reader's own time stands behind each time in UTC", () =>
  asMember({ path: '/settings/history', timezoneId: 'Asia/Tokyo', locale: 'pt-PT' }, async (page) =>
    expect(await page.textContent('td time, th time')).toMatch(
      /^\d+ \p{L}+ \d{4}, \d\d:\d\d \((\d+\/\d+, )?\d\d:\d\d hora local\)$/u,
    ),
  ));

test('buttons that show a password or copy a text have names of their own, which follow their state', () =>
  asMember({ path: '/settings', locale: 'pt-PT', permissions: CLIPBOARD }, async (page) => {
    const named = (name: string) => page.waitForSelector(`button[aria-label="${name}"]`);
    await named('Mostrar: Nova palavra-passe');
    for (const [press, type] of [
      ['Mostrar', 'text'],
      ['Ocultar', 'password'],
    ]) {
      const button = await named(`${press}: Palavra-passe atual`);
      expect(await button.textContent()).toBe(press!);
      await button.click();
      expect(await page.getAttribute('#present', 'type')).toBe(type!);
    }
    await page.goto(dashboard('/credits'));
    await (await named('Copiar: Conta')).click();
    await named('Copiado ✓');
  }));

test('everything but the copy button works without scripts', () =>
  asMember({ path: '/keys', javaScriptEnabled: false }, async (page) => {
    await page.fill('#name', 'plain');
    await page.click('button:has-text("Create key")');
    expect(await page.textContent('#new-secret')).toMatch(/^svc_/);
    expect(await page.isVisible('[data-copy]')).toBe(false);
    await page.goto(dashboard('/screen'));
    expect([await page.isVisible('textarea'), await page.isVisible('#file')]).toEqual([true, false]);
    await page.goto(dashboard('/try'));
    await page.fill('#q', 'anything');
    await page.click('button[value=search]');
    await page.waitForSelector('#request');
  }));

// Each width and each colour scheme once: the width changes no colour, and the scheme no box.
test.each<[string, number, 'light' | 'dark']>([
  ['desktop', 1280, 'light'],
  ['phone', 360, 'dark'],
])('%s, %d px, %s: axe finds nothing serious in an empty account and in answers', (_, width, colorScheme) =>
  asMember({ viewport: { width, height: 740 }, colorScheme }, async (page) => {
    for (const path of ['', '/keys', '/try', '/screen', '?days=2026-01']) await inspect(page, path);
    await page.goto(dashboard('/keys'));
    await page.fill('#name', 'a name that is rather long for a key, but that someone will choose');
    await page.click('button:has-text("Create key")');
    await page.waitForSelector('#new-secret');
    await inspect(page);
    await page.goto(dashboard('/try'));
    await page.fill('#q', 'x'.repeat(120));
    await page.click('button[value=search]');
    await page.waitForSelector('#request');
    await inspect(page);
  }),
);

// A form that is sent twice, by an impatient second click or a reload, does its work once.
const patient = () => createVisitor(service.baseUrl, { isPatient: true });
const keysOf = async (accountId: string) =>
  (await service.sql`SELECT 1 FROM api_keys WHERE account_id = ${accountId}`).length;

test('one form creates one key, and each of its answers shows the secret, until the key is revoked, or for ten minutes', async () => {
  const { visitor, accountId } = await createMember(service, { visitor: patient() });
  const form_token = await formTokenOf(visitor, '/dashboard/keys');
  // Another name is another key.
  for (const [name, change] of [
    ['production', 'revoked_at = now()'],
    ['staging', "created_at = now() - interval '11 minutes'"],
  ] as const) {
    const before = await keysOf(accountId);
    const form = { name, form_token };
    const answers = await Promise.all([1, 2, 3].map(() => visitor.post('/dashboard/keys', form)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(new Set(answers.map((answer) => answer.textOf('#new-secret'))).size).toBe(1);
    expect(answers[0]!.textOf('#new-secret')).toMatch(/^svc_[a-z2-7]{40}$/);
    expect(await keysOf(accountId)).toBe(before + 1);
    await service.sql.unsafe(`UPDATE api_keys SET ${change} WHERE account_id = $1`, [accountId]);
    const again = await visitor.post('/dashboard/keys', form);
    expect([again.status, again.textOf('#new-secret')]).toEqual([409, null]);
    expect(again.textOf('[role=alert]')).toContain('sent already');
    expect(await keysOf(accountId)).toBe(before + 1);
  }
});

test('one form makes one call and is charged once', async () => {
  const { visitor, accountId } = await createMember(service, { visitor: patient() });
  const form = { q: 'anything', kind: 'search', form_token: await formTokenOf(visitor, '/dashboard/try') };
  const answers = await Promise.all([1, 2, 3].map(() => visitor.post('/dashboard/try', form)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
  expect(await usedBy(service, accountId)).toBe(1);
});

test('a sign-up that is sent twice opens the account both times', async () => {
  const visitor = patient();
  const person = newPerson();
  const form = { ...person, form_token: await formTokenOf(visitor, '/dashboard/sign-up') };
  const cookie = `dashboard.form=${visitor.cookies.get('dashboard.form')}`;
  const answers = await Promise.all([
    visitor.post('/dashboard/sign-up', form, { cookie }),
    visitor.post('/dashboard/sign-up', form, { cookie }),
  ]);
  answers.push(await visitor.post('/dashboard/sign-up', form, { cookie }));
  for (const { status, headers } of answers)
    expect([status, headers.get('location')]).toEqual([303, '/dashboard']);
  const other = createVisitor(service.baseUrl);
  const taken = await other.submit('/dashboard/sign-up', { ...person, password: 'not the password at all' });
  expect([taken.status, [...other.cookies.keys()]]).toEqual([422, ['dashboard.form']]);
});

test('a sign-in with a session leads to the overview', async () => {
  const { visitor } = await createMember(service, { visitor: patient() });
  const answer = await visitor.post('/dashboard/sign-in', { email: 'a@example.com', password: 'x' });
  expect(answer.place()).toEqual([303, '/dashboard']);
});

test('three clicks send one form, and the button says that it waits', () =>
  asMember({ path: '/keys' }, async (page, { accountId }) => {
    let sent = 0;
    page.on('request', (request) => {
      if (request.method() === 'POST') sent += 1;
    });
    await page.fill('#name', 'production');
    const busy = await page.evaluate(`(() => {
      const button = document.querySelector('.create button');
      button.click(); button.click(); button.click();
      return button.form.getAttribute('aria-busy');
    })()`);
    expect(busy).toBe('true');
    await page.waitForSelector('#new-secret');
    expect([sent, await keysOf(accountId)]).toEqual([1, 1]);
  }));

test('a site that opens it in a window gets the code there, after a redirect to another host, and a message from the window', async () => {
  // Two sites: the window comes back to the one, which leads on to the other, as hosts of agents do.
  const site = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch({ url }) {
      const { pathname, search, port } = new URL(url);
      if (pathname === '/callback') return Response.redirect(`http://localhost:${port}/done${search}`, 302);
      const script =
        pathname === '/done'
          ? 'opener.postMessage(location.search, "*")'
          : 'onmessage = ({ data }) => { document.title = data }';
      return new Response(`<script>${script}</script>`, { headers: { 'Content-Type': 'text/html' } });
    },
  });
  try {
    const agent = await registerAgent(service, { redirectUri: `http://127.0.0.1:${site.port}/callback` });
    const { email, password } = await createMember(service);
    await inBrowser({}, async (page) => {
      await page.goto(`http://127.0.0.1:${site.port}/`);
      const opened = page.waitForEvent('popup');
      await page.evaluate(
        `void window.open(${JSON.stringify(service.baseUrl + authorizePath(agent))}, 'connect')`,
      );
      const popup = await opened;
      await popup.fill('#email', email);
      await popup.fill('#password', password);
      await popup.click('main form button[type=submit]');
      await popup.waitForSelector('#present');
      await popup.fill('#present', password);
      await popup.click('main form button[type=submit]:has-text("Connect")');
      await page.waitForFunction('document.title.includes("code=")');
      const answer = new URLSearchParams(await page.title());
      expect([answer.get('state'), answer.get('iss')]).toEqual([agent.state, service.baseUrl]);
      const { access_token } = await exchange(service, agent, answer.get('code')!);
      expect((await callTool(service, access_token)).status).toBe(200);
    });
  } finally {
    await site.stop(true);
  }
});

/** The heights of the bars that the reader sees, as multiples of the smallest. */
async function barHeights(page: Page): Promise<number[]> {
  const heights = await page.evaluate<number[]>(`
    [...document.querySelectorAll('#calls .plot rect:not(.day)')].map((bar) => bar.getBoundingClientRect().height)`);
  return heights.map((height) => Math.round(height / Math.min(...heights)));
}
