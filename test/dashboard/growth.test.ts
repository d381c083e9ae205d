/** No page, form or file reads whole what a customer can make grow, whatever it is of: the routes are the dashboard's own list. */
import { afterAll, expect, test } from 'bun:test';
import { changePlan } from '../../src/metering/accounts/changes.ts';
import { growAccount } from '../support/grown-account.ts';
import { startRowCounter } from '../support/row-counter.ts';
import { createTestEnvironment, startInProcess } from '../support/service.ts';
import { importPages } from '../support/whole.ts';
import { OPEN } from './service.ts';
import { createMember } from './visitor.ts';

/** The most rows that Postgres may answer at once, and rows of everything in the account. */
const [MOST, ROWS] = [1000, 3000];

const { database, env, remove } = await createTestEnvironment({ env: OPEN });
const { sql } = database;
const counter = await startRowCounter(database.url);
const service = await startInProcess({ ...env, DATABASE_URL: counter.url(database.url) }, async () => {
  await counter.close();
  await remove();
});
afterAll(() => service.stop());

const { visitor, accountId, ...person } = await createMember({ ...service, sql });
await changePlan(sql, accountId, 'plus', {}, 'test');
const { keyId, memberId } = await growAccount(sql, accountId, ROWS);

const addressOf = (path: string) =>
  `/dashboard${path.replace(':id', path.startsWith('/keys') ? keyId : memberId)}`;
const { ROUTES } = await importPages();
const ofMembers = Object.entries(ROUTES).filter(([, route]) => route.for === 'member');

test('no page or file, and no page that it links to, reads whole what grew', async () => {
  // The page of consent wants the request of an agent, and lists nothing.
  const pages = ofMembers
    .filter(([path, route]) => route.GET !== undefined && path !== '/connect/consent')
    .map(([path]) => addressOf(path));
  expect(pages.length).toBeGreaterThan(20);
  const seen = new Set(pages);
  let most = 0;
  const found: Record<string, number> = {};
  // Pages that are found meanwhile come last.
  for (const page of seen) {
    counter.most();
    const answer = await visitor.get(page);
    const rows = counter.most();
    most = Math.max(most, rows);
    if (answer.status !== 200 || rows > MOST) found[`${page} → ${answer.status}`] = rows;
    if (!pages.includes(page)) continue;
    for (const link of answer.linksOf('main a[href*="?"]'))
      if (link!.startsWith('/dashboard')) seen.add(link!.replace(/#.*/, ''));
  }
  expect(found).toEqual({});
  // A page of a long list, and the row that shows that there are more: the counter counts.
  expect(most).toBeGreaterThan(100);
  expect([...seen].filter((page) => /[?&](before|days=7)/.test(page)).length).toBeGreaterThan(3);
});

test('a download has every row', async () => {
  const { text } = await visitor.get('/dashboard/usage.csv?days=30');
  expect(text.split('\r\n').length - 2).toBe(ROWS);
});

test('no form reads whole what grew, the deletion of the account neither', async () => {
  const forms = ofMembers.filter(([, route]) => route.POST && route.GET).map(([path]) => path);
  const { password: present, name } = person;
  const fields = { present, name, email: 'new@example.com', expires: '2999-12-31', overlap: '0' };
  const last = '/settings/delete';
  const found: Record<string, number> = {};
  for (const path of [...forms.filter((path) => path !== last), last]) {
    counter.most();
    // Of the forms of a page, that of the path.
    const action = `form[action="${addressOf(path)}"]`;
    if ((await visitor.get(addressOf(path))).countOf(action) === 0) continue;
    const { status } = await visitor.submit(addressOf(path), fields, { form: action });
    const rows = counter.most();
    if (status >= 500 || rows > MOST) found[`${path} → ${status}`] = rows;
  }
  expect(found).toEqual({});
  const [account] = await sql`SELECT deleted_at FROM accounts WHERE id = ${accountId}`;
  expect(account!.deleted_at).not.toBeNull();
});
