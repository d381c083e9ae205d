import { afterAll, expect, test } from 'bun:test';
import { ROUTES } from '../../src/dashboard/routes.ts';
import { sendRaw } from '../support/client.ts';
import { createCaller } from '../support/service.ts';
import { startDashboardService } from './service.ts';
import {
  cookiesOf,
  createMember,
  createMemberWithKey,
  createVisitor,
  fieldsOf,
  formTokenOf,
  newPerson,
} from './visitor.ts';

const ofMembers = Object.entries(ROUTES).filter(([, route]) => route.for === 'member');

const service = await startDashboardService();
const {
  visitor: owner,
  accountId: ownerAccount,
  id: ownerKeyId,
} = await createMemberWithKey(service, 'owned');
await service.sql`UPDATE accounts SET name = 'Owner Lda' WHERE id = ${ownerAccount}`;
afterAll(() => service.stop());

test('without a session every page of a member leads to the sign-in', async () => {
  const stranger = createVisitor(service.baseUrl);
  for (const [path, { GET }] of ofMembers) {
    const page = path.replace(':id', ownerKeyId);
    const answer = await stranger.get(`/dashboard${page}`);
    const to = !page || /\./.test(page) ? '' : `?to=${encodeURIComponent(page)}`;
    expect([page, answer.status, answer.headers.get('location')]).toEqual(
      GET ? [page, 303, `/dashboard/sign-in${to}`] : [page, 405, null],
    );
  }
});

test("a member reaches another account's key by no address: not its page, not its form", async () => {
  const { visitor: other } = await createMember(service, { name: 'Other Lda' });
  // A form with a token of their own, sent to the other's key.
  const form_token = await formTokenOf(other, '/dashboard/keys');
  const before = await stateOf(ownerAccount);
  for (const [path, { GET, POST }] of ofMembers.filter(([path]) => path.startsWith('/keys/:id'))) {
    const page = `/dashboard${path.replace(':id', ownerKeyId)}`;
    if (GET) expect([page, (await other.get(page)).status]).toEqual([page, 404]);
    if (POST) expect([page, (await other.post(page, { ...FIELDS, form_token })).status]).toEqual([page, 404]);
  }
  expect(await stateOf(ownerAccount)).toEqual(before);
});

test("ids of another account in query, form or header change nothing: every page shows the member's own", async () => {
  const { visitor: other, accountId } = await createMember(service, { name: 'Third Lda' });
  for (const [path] of ofMembers.filter(([path, { GET }]) => GET && !/:id|^.connect|json/.test(path))) {
    const query = `account=${ownerAccount}&account_id=${ownerAccount}&id=${ownerAccount}&key_id=${ownerKeyId}`;
    const answer = await other.get(`/dashboard${path}?${query}`, { 'X-Account': ownerAccount });
    expect([path, answer.status]).toEqual([path, 200]);
    // The addresses of its forms and of the other language have the query.
    const rest = answer.text.replaceAll('&amp;', '&').replaceAll(query, '');
    for (const theirs of ['Owner Lda', ownerKeyId]) expect(rest).not.toContain(theirs);
  }
  const fields = { name: 'sneaky', account: ownerAccount, account_id: ownerAccount };
  expect((await other.submit('/dashboard/keys', fields)).status).toBe(200);
  const keys = await service.sql`SELECT account_id FROM api_keys WHERE name = 'sneaky'`;
  expect(keys.map((key) => key.account_id)).toEqual([accountId]);
});

test('a session cookie never opens the API, and an API key never opens the dashboard', async () => {
  for (const path of ['/usage', '/companies?q=a', '/companies/500002576']) {
    const answer = await fetch(service.url + path, { headers: { Cookie: cookiesOf(owner) } });
    expect([path, answer.status]).toEqual([path, 401]);
  }
  for (const value of owner.cookies.values()) {
    const headers = { Authorization: `Bearer ${decodeURIComponent(value)}` };
    expect((await fetch(`${service.url}/usage`, { headers })).status).toBe(401);
  }
  const { key } = await createCaller(service.sql);
  const headers = { Authorization: `Bearer ${key}`, Cookie: `dashboard.session_token=${key}` };
  for (const [path] of ofMembers.filter(([, { GET }]) => GET)) {
    const answer = await createVisitor(service.baseUrl).get(`/dashboard${path}`, headers);
    expect([path, answer.status]).toEqual([path, 303]);
  }
});

test('a session ends with the sign-out, for a copy of its cookie too', async () => {
  const { visitor } = await createMember(service);
  const copy = createVisitor(service.baseUrl, { copied: visitor.cookies });
  expect((await copy.get('/dashboard')).status).toBe(200);
  const answer = await visitor.submit('/dashboard', {}, { form: 'form.sign-out' });
  expect(answer.place()).toEqual([303, '/dashboard/sign-in?done=out']);
  expect((await copy.get('/dashboard')).status).toBe(303);
});

/** With these fields each form would change something. */
const FIELDS = {
  ...{ name: 'forged', q: 'abaco', kind: 'search', list: '500002576', price: '1' },
  ...{ present: 'x'.repeat(12), password: 'y'.repeat(12), overlap: '0' },
};

test('each form without its token, or with one of another visitor, is refused and does nothing', async () => {
  const { visitor, accountId, id } = await createMemberWithKey(service);
  const { visitor: attacker } = await createMember(service);
  const theirs = await formTokenOf(attacker, '/dashboard/keys');
  const before = await stateOf(accountId);
  for (const [path, { POST, opensSession }] of Object.entries(ROUTES))
    for (const form_token of POST === undefined ? [] : [undefined, theirs, `${theirs.slice(0, -2)}AA`]) {
      // A member needs no session, so their form leads on.
      const sender = opensSession ? createVisitor(service.baseUrl) : visitor;
      const answer = await sender.post(`/dashboard${path.replace(':id', id)}`, { ...FIELDS, form_token });
      expect([path, form_token, answer.status]).toEqual([path, form_token, 403]);
    }
  for (const form_token of ['', 'x'])
    expect((await visitor.post('/dashboard/keys', { ...FIELDS, form_token })).status).toBe(403);
  expect(await stateOf(accountId)).toEqual(before);
  expect((await visitor.get('/dashboard')).status).toBe(200);
});

test('each form that another site sends is refused, even with its token, and nobody is signed in by one', async () => {
  const { visitor: member, ...person } = await createMember(service);
  const form_token = await formTokenOf(member, '/dashboard/keys');
  for (const [path, { POST, opensSession }] of Object.entries(ROUTES))
    for (const Origin of POST ? ['https://evil.example', 'null', `${service.baseUrl}.evil.example`] : []) {
      // A member needs no session, so their form leads on.
      const sender = opensSession ? createVisitor(service.baseUrl) : member;
      const own = opensSession ? await formTokenOf(sender) : form_token;
      const form = { ...FIELDS, ...person, form_token: own };
      const answer = await sender.post(`/dashboard${path.replace(':id', ownerKeyId)}`, form, { Origin });
      expect([path, Origin, answer.status]).toEqual([path, Origin, 403]);
      if (opensSession) expect([...sender.cookies.keys()]).toEqual(['dashboard.form']);
    }
  expect((await member.get('/dashboard')).status).toBe(200);
});

test('what changes something is a POST: a GET of the same address does nothing', async () => {
  const before = await stateOf(ownerAccount);
  for (const [path, { POST }] of Object.entries(ROUTES))
    if (POST) await owner.get(`/dashboard${path.replace(':id', ownerKeyId)}?${new URLSearchParams(FIELDS)}`);
  expect(await stateOf(ownerAccount)).toEqual(before);
});

test('other methods are answered 405 with what is allowed, other paths 404', async () => {
  for (const method of ['PUT', 'DELETE', 'PATCH']) {
    const answer = await fetch(`${service.baseUrl}/dashboard/keys`, { method });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
  }
  for (const path of ['/nothing', '/auth/sign-up/email', '/assets/../config.ts'])
    expect((await fetch(`${service.baseUrl}/dashboard${path}`)).status).toBe(404);
});

test('a form over 32 KiB, or of another type, is refused', async () => {
  const big = await owner.submit('/dashboard/keys', { name: 'x'.repeat(40_000) });
  expect([big.status, big.textOf('.lead')]).toEqual([413, expect.stringContaining('larger than 32 KiB')]);
  const response = await fetch(`${service.baseUrl}/dashboard/keys`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Cookie: cookiesOf(owner) },
    body: JSON.stringify({ name: 'x' }),
  });
  expect(response.status).toBe(403);
});

test('a form of over 64 fields is refused, and one of 64 is read', async () => {
  const fields = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`a${n}`, '']));
  const many = await owner.submit('/dashboard/keys', fields(64));
  expect(many.status).toBe(413);
  expect(many.textOf('.lead')).toBe('The form has too many fields. Nothing was done or charged.');
  expect((await owner.post('/dashboard/keys', fields(64))).textOf('h1')).toBe('This form is out of date');
});

test('headers of over 16 KiB together with the address are refused without a page', async () => {
  const headers = { 'X-Long': 'x'.repeat(8000) };
  expect((await owner.get(`/dashboard/keys?${'x'.repeat(7000)}`, headers)).status).toBe(200);
  const refused = await owner.get(`/dashboard/keys?${'x'.repeat(8400)}`, headers);
  expect([refused.status, refused.text]).toEqual([431, '']);
});

// Over https: test/http/addresses.test.ts.
test('cookies are HttpOnly, SameSite and kept from the API', async () => {
  const visitor = createVisitor(service.baseUrl);
  const form = await visitor.get('/dashboard/sign-up?lang=en');
  const answer = await visitor.post('/dashboard/sign-up', { ...newPerson(), ...fieldsOf(form) });
  const page = await visitor.get('/dashboard');
  expect([answer.status, page.status]).toEqual([303, 200]);
  const cookies = [form, answer, page].flatMap(({ headers }) => headers.getSetCookie());
  expect(cookies).toHaveLength(visitor.cookies.size);
  for (const cookie of cookies) {
    for (const part of [/; HttpOnly/, /; SameSite=Lax/, /; Path=\/dashboard/]) expect(cookie).toMatch(part);
    expect(cookie).not.toMatch(/; Secure/);
  }
});

test('links are built from PUBLIC_URL, whatever the request says its host is', async () => {
  const answer = await fetch(`${service.baseUrl}/dashboard/sign-in`, {
    headers: { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example' },
  });
  expect(await answer.text()).not.toContain('evil.example');
});

test('a Host that is none, or no Host, does not matter', async () => {
  for (const host of ['Host: a:99999', 'Host: [::1', 'Host: a b', 'Host:', 'X-Host: none']) {
    // Only HTTP/1.0 has requests without a Host.
    const head = `HTTP/1.0\r\n${host}\r\nConnection: close\r\n\r\n`;
    const answer = await sendRaw(service, `GET /dashboard?days=7 ${head}`);
    expect([host, answer.split(' ')[1]]).toEqual([host, '303']);
    expect(answer).toContain('ocation: /dashboard/sign-in?to=%3Fdays%3D7\r\n');
  }
  const head = 'HTTP/1.1\r\nHost: a:99999\r\nConnection: close\r\n\r\n';
  const answer = await sendRaw(service, `GET /dashboard/sign-in?done=password ${head}`);
  expect(answer).toStartWith('HTTP/1.1 200');
  expect(answer).toContain('role="status"');
});

test('the other name of this machine leads to the one that PUBLIC_URL has', async () => {
  const { port } = new URL(service.baseUrl);
  const answer = await sendRaw(
    service,
    `GET /dashboard/keys?a=b HTTP/1.1\r\nHost: LOCALHOST:${port}\r\nConnection: close\r\n\r\n`,
  );
  expect(answer).toStartWith('HTTP/1.1 302');
  expect(answer).toContain(`ocation: ${service.baseUrl}/dashboard/keys?a=b\r\n`);
});

/** The rows that a forged form could have changed. */
async function stateOf(accountId: string) {
  return service.sql`
    SELECT used, credits, (SELECT count(*) FROM account_events e WHERE e.account_id = a.id) AS events,
      (SELECT jsonb_agg(k ORDER BY k.id) FROM api_keys k WHERE k.account_id = a.id) AS keys
    FROM accounts a JOIN balances b ON b.account_id = a.id WHERE a.id = ${accountId}`;
}
