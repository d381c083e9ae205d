import { afterAll, expect, test } from 'bun:test';
import { ROUTES } from '../../src/dashboard/routes.ts';
import { fillAccount, memberPages } from './full-account.ts';
import { startDashboardService } from './service.ts';
import { createMember, formTokenOf } from './visitor.ts';

const service = await startDashboardService();
afterAll(() => service.stop());

test('long lists have pages of 100 rows, and a link to the rest', async () => {
  const { visitor, accountId } = await createMember(service);
  await service.sql`
    INSERT INTO account_events (account_id, kind, actor, credits, balance, note)
    SELECT ${accountId}, 'credits', 'test', 1, n, 'grant ' || n FROM generate_series(1, 250) AS n`;
  await service.sql`UPDATE balances SET credits = 250 WHERE account_id = ${accountId}`;
  const look = async (path: string) => {
    const page = await visitor.get(`/dashboard${path}`);
    const notes = page.textsOf('.list tbody td:last-child');
    return {
      count: notes.length,
      first: notes[0],
      last: notes.at(-1),
      links: page.linksOf('main .contents a'),
    };
  };
  for (const path of ['/credits', '/settings/history']) {
    const note = (n: number) => (path === '/credits' ? `grant ${n}` : `+1 · grant ${n}`);
    const one = await look(path);
    expect(one).toMatchObject({ count: 100, first: note(250), last: note(151) });
    const [older, ...none] = one.links;
    expect([older, none]).toEqual([expect.stringMatching(/\?before=\d+$/), []]);
    const two = await look(older!.slice('/dashboard'.length));
    expect(two).toMatchObject({ count: 100, first: note(150), last: note(51) });
    const [latest, oldest] = two.links.map((link) => link!.slice('/dashboard'.length));
    const three = await look(oldest!);
    expect([three.first, three.links.length]).toEqual([note(50), 1]);
    expect(await look(latest!)).toEqual(one);
    expect((await look(`${path}?before=x`)).first).toBe(note(250));
    const behind = await look(`${path}?before=1`);
    expect([behind.count, behind.links]).toEqual([0, [`/dashboard${path}?`]]);
  }
  expect((await visitor.get('/dashboard/credits?before=1')).text).not.toContain('No purchased credits yet');
});

test('a zero byte in an address or a form is a fault of no page', async () => {
  const { visitor } = await createMember(service);
  const names = ['q', 'before', 'state', 'name', 'days', 'to', 'token', 'email', 'done'];
  const search = names.map((name) => `${name}=%00`).join('&');
  for (const [path, { GET }] of Object.entries(ROUTES))
    if (GET)
      expect([path, (await visitor.get(`/dashboard${path}?${search}`)).status < 500]).toEqual([path, true]);
  expect((await visitor.get('/dashboard/keys/%00')).status).toBe(404);
  const form = { form_token: await formTokenOf(visitor, '/dashboard/settings'), email: '\0' };
  expect((await visitor.post('/dashboard/settings/members/withdraw', form)).status).toBe(303);
});

test('nothing from an address gets into a page', async () => {
  const { visitor } = await createMember(service);
  const hostile = '<script>alert(1)</script>';
  for (const path of [`?done=${hostile}&by=${hostile}`, `/keys/${hostile}/revoke`, `/${hostile}`]) {
    const { text } = await visitor.get(`/dashboard${encodeURI(path)}`);
    expect(text).not.toContain('alert(1)');
  }
});

test('a name of what every object has is no notice, nor is the notice of another page', async () => {
  const { visitor } = await createMember(service);
  for (const name of ['constructor', '__proto__', 'toString', 'deleted', 'revoked']) {
    const page = await visitor.get(`/dashboard/settings?done=${name}`);
    expect(page.textOf('[role=status]')).toBeNull();
  }
});

test('each number of a page has its groups of three digits', async () => {
  await using priced = await startDashboardService({
    SMTP_URL: 'smtp://127.0.0.1:9',
    CREDITS_PRICE: '1500 EUR 100000',
  });
  const { visitor, accountId } = await createMember(priced);
  const pages = await memberPages(priced, accountId, await fillAccount(priced, accountId));
  for (const [language, price] of [
    ['en', '€1,500 for 100,000'],
    ['pt', '1 500 € por 100 000'],
  ] as const)
    for (const [, path] of pages) {
      const { document } = await visitor.get(`/dashboard${path}`, { 'Accept-Language': language });
      for (const other of document.querySelectorAll('code, pre, time, [lang=en]:not(html)')) other.remove();
      // A year, a standard and an address are no counts.
      const text = document.body.innerHTML
        .replace(/<[^>]*>/g, '\n')
        .replace(/&#160;/g, ' ')
        .replace(/\b20\d\d\b|RFC \d+|\S+@\S+/g, '');
      expect([path, text.match(/.{0,20}\d{4,}.{0,20}/g)]).toEqual([path, null]);
      if (path === '/credits') expect(text).toContain(price);
    }
});
