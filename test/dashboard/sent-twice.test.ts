/** A form that is sent twice, by an impatient second click or a reload, does its work once. */
import { afterAll, expect, test } from 'bun:test';
import { until } from '../support/until.ts';
import { startBrowsedDashboard } from './browser.ts';
import { usedBy } from './service.ts';
import { createMember, createVisitor, formTokenOf, newPerson } from './visitor.ts';

const { service, browsing, stop } = await startBrowsedDashboard();
afterAll(() => stop());

const patient = () => createVisitor(service.baseUrl, { isPatient: true });
const keysOf = async (accountId: string) =>
  (await service.sql`SELECT 1 FROM api_keys WHERE account_id = ${accountId}`).length;

test('one form creates one key, and each of its answers shows the secret', async () => {
  const { visitor, accountId } = await createMember(service, { visitor: patient() });
  const form = { name: 'production', form_token: await formTokenOf(visitor, '/dashboard/keys') };
  const answers = await Promise.all([1, 2, 3].map(() => visitor.post('/dashboard/keys', form)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(new Set(answers.map((answer) => answer.textOf('#new-secret'))).size).toBe(1);
  expect(answers[0]!.textOf('#new-secret')).toMatch(/^svc_[a-z2-7]{40}$/);
  expect(await keysOf(accountId)).toBe(1);
  // Another name is another key, and another page's form too.
  await visitor.post('/dashboard/keys', { ...form, name: 'staging' });
  expect(await keysOf(accountId)).toBe(2);
});

test('a form whose key is revoked, or older than ten minutes, shows no secret and creates no key', async () => {
  const { visitor, accountId } = await createMember(service, { visitor: patient() });
  for (const change of ['revoked_at = now()', "created_at = now() - interval '11 minutes'"]) {
    const form = { name: 'production', form_token: await formTokenOf(visitor, '/dashboard/keys') };
    await visitor.post('/dashboard/keys', form);
    const before = await keysOf(accountId);
    await service.sql.unsafe(`UPDATE api_keys SET ${change} WHERE account_id = $1`, [accountId]);
    const again = await visitor.post('/dashboard/keys', form);
    expect(again.status).toBe(409);
    expect(again.textOf('#new-secret')).toBeNull();
    expect(again.textOf('[role=alert]')).toContain('sent already');
    expect(await keysOf(accountId)).toBe(before);
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
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/dashboard']);
});

test('three clicks send one form, and the button says that it waits', () =>
  browsing.inBrowser({}, async (page) => {
    const { accountId } = await browsing.enter(page.context());
    await page.goto(`${service.baseUrl}/dashboard/keys`);
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

test('without scripts, a second click creates no second key, and its secret is shown', () =>
  browsing.inBrowser({ javaScriptEnabled: false }, async (page) => {
    const { accountId } = await browsing.enter(page.context());
    await page.goto(`${service.baseUrl}/dashboard/keys`);
    const second = Promise.withResolvers<void>();
    let sent = 0;
    await page.route('**/dashboard/keys', async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      sent += 1;
      if (sent === 2) second.resolve();
      // The answer to the first click is on its way when the second comes: the browser drops it.
      const response = await route.fetch();
      await second.promise;
      await route.fulfill({ response }).catch(() => {});
    });
    await page.fill('#name', 'production');
    const button = page.locator('.create button').first();
    await button.scrollIntoViewIfNeeded();
    const box = (await button.boundingBox())!;
    const click = () => page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    await click();
    await until('the first sending', () => sent === 1);
    await click();
    await page.waitForSelector('#new-secret');
    expect([sent, await keysOf(accountId)]).toEqual([2, 1]);
  }));
