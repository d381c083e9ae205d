import { afterAll, describe, expect, test } from 'bun:test';
import { ROUTES } from '../../src/dashboard/routes.ts';
import { grantCredits } from '../../src/metering/accounts/grant.ts';
import { storeRecord } from '../support/records.ts';
import { startDashboardService, storeCalls } from './service.ts';
import { createMember, createVisitor, formTokenOf, makeKey, signUp } from './visitor.ts';

const service = await startDashboardService();
afterAll(() => service.stop());

describe('credit history', () => {
  test('lists every grant with date, amount, reference and note, the latest first', async () => {
    const { visitor, accountId } = await createMember(service);
    await grantCredits(
      service.sql,
      accountId,
      { credits: 1000, note: 'invoice 17', reference: '17' },
      'test',
    );
    await grantCredits(
      service.sql,
      accountId,
      { credits: 1000, note: 'invoice 17', reference: '17' },
      'test',
    );
    await grantCredits(service.sql, accountId, { credits: 5 }, 'test');
    const { document } = await visitor.get('/dashboard/credits');
    const rows = [...document.querySelectorAll('.list tbody tr')].map((row) =>
      [...row.children].map((cell) => cell.textContent!.trim()),
    );
    expect(rows.map((row) => row.slice(1))).toEqual([
      ['+5', '1,005', '–', '–'],
      ['+1,000', '1,000', '17', 'invoice 17'],
    ]);
    expect(rows[0]![0]).toMatch(/^\d+ \w+ \d{4}, \d\d:\d\d$/);
    const csv = (await visitor.get('/dashboard/credits.csv')).text.split('\r\n');
    expect(csv[0]).toBe('"kind","from","until","credits","balance","reference","note"');
    expect(csv.slice(1, -1).map((line) => line.split(',').toSpliced(1, 2).join())).toEqual([
      '"grant",5,1005,"",""',
      '"grant",1000,1000,"17","invoice 17"',
    ]);
  });

  test('long lists have pages of 100 rows, and a link to the rest', async () => {
    const { visitor, accountId } = await createMember(service);
    await service.sql`
      INSERT INTO account_events (account_id, kind, actor, credits, balance, note)
      SELECT ${accountId}, 'credits', 'test', 1, n, 'grant ' || n FROM generate_series(1, 250) AS n`;
    await service.sql`UPDATE balances SET credits = 250 WHERE account_id = ${accountId}`;
    const look = async (path: string) => {
      const { document } = await visitor.get(`/dashboard${path}`);
      const notes = [...document.querySelectorAll('.list tbody tr')].map(
        (row) => row.querySelector('td:last-child')!.textContent,
      );
      const links = [...document.querySelectorAll('main .contents a')].map((link) =>
        link.getAttribute('href'),
      );
      return { count: notes.length, first: notes[0], last: notes.at(-1), links };
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
    for (const [path, { GET }] of Object.entries(ROUTES)) {
      if (GET)
        expect([path, (await visitor.get(`/dashboard${path}?${search}`)).status < 500]).toEqual([path, true]);
    }
    expect((await visitor.get('/dashboard/keys/%00')).status).toBe(404);
    const form = { form_token: await formTokenOf(visitor, '/dashboard/settings'), email: '\0' };
    expect((await visitor.post('/dashboard/settings/members/withdraw', form)).status).toBe(303);
  });

  test('a spreadsheet adds the amounts of the CSV up to the balance, and reads it as UTF-8 in both languages', async () => {
    const { visitor, accountId } = await createMember(service);
    await grantCredits(service.sql, accountId, { credits: 500, note: '-187' }, 'test');
    await service.sql`UPDATE balances SET credits = credits - 187 WHERE account_id = ${accountId}`;
    for (const language of ['en', 'pt']) {
      const { text } = await visitor.get(`/dashboard/credits.csv?lang=${language}`);
      const cells = text.split('\r\n').map((line) => line.split(language === 'en' ? ',' : ';'));
      expect(cells.slice(1, -1).map((row) => row[3])).toEqual(['-187', '500']);
      // Free text is guarded: a note is no formula.
      expect(cells[2]!.at(-1)).toBe(`"'-187"`);
      const Cookie = [...visitor.cookies].map((pair) => pair.join('=')).join('; ');
      const file = await fetch(`${service.baseUrl}/dashboard/credits.csv?lang=${language}`, {
        headers: { Cookie },
      });
      expect([...new Uint8Array(await file.arrayBuffer())].slice(0, 3)).toEqual([0xef, 0xbb, 0xbf]);
    }
  });
});

describe('text from outside', () => {
  const HOSTILE = '<script>alert(1)</script>"\'&<img src=x onerror=alert(1)>';

  test('an account, a user, a key, a note and a company called <script> stay text everywhere', async () => {
    const visitor = createVisitor(service.baseUrl);
    const { accountId } = await signUp(visitor, {
      name: HOSTILE,
      email: 'hostile@example.com',
      password: 'a long password',
    });
    await makeKey(visitor, HOSTILE);
    const [key] = await service.sql<
      { id: string }[]
    >`SELECT id FROM api_keys WHERE account_id = ${accountId}`;
    await storeCalls(service.sql, accountId, [{ daysAgo: 1, keyId: key!.id, kind: 'search', calls: 1 }]);
    await grantCredits(service.sql, accountId, { credits: 1, note: HOSTILE }, 'test');
    await storeRecord(service.sql, '509442013', 'Nexperience <script>alert(1)</script> Lda');
    const tried = await visitor.submit('/dashboard/try', { q: '509442013', kind: 'lookup' });
    expect(tried.textOf('#answer-json')).toContain('Nexperience');
    const pages = [tried];
    for (const page of ['', '/keys', '/credits', '/settings', `/keys/${key!.id}/revoke`]) {
      const answer = await visitor.get(`/dashboard${page}`);
      expect([page, answer.textOf('main')!.includes('alert(1)')]).toEqual([page, true]);
      pages.push(answer);
    }
    for (const { text } of pages) {
      expect(text).not.toContain('<script>');
      expect(text).not.toContain('<img');
    }
  });

  test('nothing from an address gets into a page', async () => {
    const { visitor } = await createMember(service);
    for (const path of [`?done=${HOSTILE}&by=${HOSTILE}`, `/keys/${HOSTILE}/revoke`, `/${HOSTILE}`]) {
      const { text } = await visitor.get(`/dashboard${encodeURI(path)}`);
      expect(text).not.toContain('alert(1)');
    }
  });
});

test('a name of what every object has is no notice, nor is the notice of another page', async () => {
  const { visitor } = await createMember(service);
  for (const name of ['constructor', '__proto__', 'toString', 'deleted', 'revoked']) {
    const page = await visitor.get(`/dashboard/settings?done=${name}`);
    expect(page.textOf('[role=status]')).toBeNull();
  }
});

describe('languages', () => {
  test('Portuguese and English by the preference of the browser, with their numbers and dates', async () => {
    const { visitor, accountId } = await createMember(service, { language: 'fr, pt-PT;q=0.8, en;q=0.5' });
    await grantCredits(service.sql, accountId, { credits: 12345 }, 'test');
    const portuguese = await visitor.get('/dashboard');
    expect(portuguese.headers.get('content-language')).toBe('pt-PT');
    expect(portuguese.document.documentElement.getAttribute('lang')).toBe('pt-PT');
    expect(portuguese.textOf('main')).toContain('Créditos disponíveis');
    expect(portuguese.textOf('[data-figure=credits]')!.replace(/\s/g, ' ')).toBe('12 345');
    const english = await visitor.get('/dashboard', { 'Accept-Language': 'en-GB' });
    expect(english.textOf('main')).toContain('Credits left');
    expect(english.textOf('[data-figure=credits]')).toBe('12,345');
  });
});
