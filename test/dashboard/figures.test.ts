import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { changeLimits, changePlan } from '../../src/accounts/changes.ts';
import { grantCredits } from '../../src/accounts/grant.ts';
import { createKey } from '../../src/keys/store.ts';
import { call } from '../support/client.ts';
import { storeRecord } from '../support/records.ts';
import type { TestService } from '../support/service.ts';
import { startDashboardService, storeCalls } from './service.ts';
import { createVisitor, makeKey, type PageAnswer, signUp, type Visitor } from './visitor.ts';

const NIF = '509442013';

let service: TestService;
beforeAll(async () => {
  service = await startDashboardService();
  await storeRecord(service.sql, NIF, 'Nexperience <script>alert(1)</script> Lda');
});
afterAll(() => service.stop());

const figure = (page: PageAnswer, name: string) =>
  Number(page.textOf(`[data-figure=${name}]`)!.replace(/[^\d]/g, ''));

async function shown(visitor: Visitor) {
  const page = await visitor.get('/dashboard');
  return {
    available: figure(page, 'available'),
    used: figure(page, 'used'),
    credits: figure(page, 'credits'),
    keys: figure(page, 'keys'),
    plotted: figure(page, 'plotted'),
    resetAt: page.document.querySelector('time[datetime*=T]')!.getAttribute('datetime'),
    text: page.textOf('main')!,
  };
}

describe('the overview', () => {
  test('agrees exactly with GET /usage: within the allowance, beyond it, and with nothing left', async () => {
    const visitor = createVisitor(service.baseUrl);
    const { accountId } = await signUp(visitor);
    const key = await makeKey(visitor);
    await changeLimits(service.sql, accountId, { includedCredits: 3, requestsPerMinute: 1000 }, 'test');
    await grantCredits(service.sql, accountId, { credits: 2 }, 'test');
    for (let calls = 0; calls <= 6; calls += 1) {
      if (calls > 0) await call(service.url, '/companies?q=abaco', { key });
      const { body } = await call(service.url, '/usage', { key });
      const { quotas, credits, resetAt } = body.data;
      const { used, limit } = quotas.requests;
      expect(await shown(visitor)).toMatchObject({
        used,
        credits,
        available: Math.max(0, limit - used) + credits,
        keys: quotas.apiKeys.used,
        plotted: used,
        resetAt,
      });
      expect(used).toBe(Math.min(calls, 5));
    }
    expect((await shown(visitor)).text).toContain('2 of them beyond the allowance');
  });

  test("shows the bucket's present state and takes no token for it", async () => {
    const visitor = createVisitor(service.baseUrl);
    await signUp(visitor);
    const key = await makeKey(visitor);
    const remaining = async () => figure(await visitor.get('/dashboard'), 'remaining');
    expect(await remaining()).toBe(20);
    expect(await remaining()).toBe(20);
    for (let calls = 0; calls < 5; calls += 1) await call(service.url, '/usage', { key });
    const left = await remaining();
    expect(left).toBeGreaterThanOrEqual(15);
    expect(left).toBeLessThanOrEqual(17); // it refills one every three seconds
  });

  test('shows a Plus period with its exact reset', async () => {
    const visitor = createVisitor(service.baseUrl);
    const { accountId } = await signUp(visitor);
    const periodStart = new Date(Date.now() - 40 * 86_400_000);
    await changePlan(service.sql, accountId, 'plus', { periodStart }, 'test');
    const key = await makeKey(visitor);
    const { body } = await call(service.url, '/usage', { key });
    const overview = await shown(visitor);
    expect(overview.resetAt).toBe(body.data.resetAt);
    expect(overview.text).toContain('Plan Plus');
    expect(overview.text).toMatch(/Resets in \d+ days? \d+ hours?/);
  });

  test('says how old the directory and the debts are, in both languages', async () => {
    const visitor = createVisitor(service.baseUrl);
    await signUp(visitor);
    const line = async (language: string) =>
      (await visitor.get('/dashboard', { 'Accept-Language': language })).textOf('.datasets')!;
    expect(await line('en')).toBe(
      'Directory: not imported · Tax debts: not imported · Social security debts: not imported',
    );
    await service.sql`
      INSERT INTO debt_datasets (kind, dataset_date, rows, imported_by) VALUES ('tax', '2026-10-31', 1234, 'test')`;
    await service.sql`UPDATE directory_generations SET rows = 4610, loaded_at = '2026-11-22T02:00:00Z'`;
    expect(await line('en')).toBe(
      'Directory: 4,610 companies, imported on 22 Nov 2026 · Tax debts: 1,234 companies, as of 31 Oct 2026 · Social security debts: not imported',
    );
    expect((await line('pt')).replace(/\u00a0/g, ' ')).toBe(
      'Diretório: 4 610 empresas, importadas em 22 nov 2026 · Dívidas fiscais: 1 234 empresas, à data de 31 out 2026 · Dívidas à Segurança Social: por importar',
    );
  });

  test('a new account is told what to do first', async () => {
    const visitor = createVisitor(service.baseUrl);
    await signUp(visitor);
    const overview = await visitor.get('/dashboard');
    expect(overview.textOf('.steps')).toContain('Create an API key');
    expect(overview.textOf('.calls')).toContain('No calls yet');
    expect((await visitor.get('/dashboard/keys')).text).toContain('No keys yet');
    expect((await visitor.get('/dashboard/credits')).text).toContain('No purchased credits yet');
  });
});

describe('calls a day', () => {
  test('plot, table and CSV hold the same numbers: 90 days, searches and lookups apart, and by key', async () => {
    const visitor = createVisitor(service.baseUrl);
    const { accountId } = await signUp(visitor);
    const first = await createKey(service.sql, accountId, 'first, "the best"', 'test');
    const second = await createKey(service.sql, accountId, 'x;=2+5;', 'test');
    await storeCalls(service.sql, accountId, [
      { daysAgo: 90, keyId: first.id, kind: 'search', calls: 1000 }, // a day too old
      { daysAgo: 89, keyId: first.id, kind: 'search', calls: 7 },
      { daysAgo: 89, keyId: first.id, kind: 'lookup', calls: 3 },
      { daysAgo: 2, keyId: second.id, kind: 'lookup', calls: 40 },
      { daysAgo: 2, keyId: '', kind: 'search', calls: 2 },
      { daysAgo: 0, keyId: first.id, kind: 'search', calls: 1 },
    ]);
    const csv = (await visitor.get('/dashboard/usage.csv')).text;
    const day = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);
    expect(csv.split('\r\n')).toEqual([
      '"day","key_id","key_name","searches","lookups","calls","rate_limit_exceeded","monthly_quota_exceeded","other_4xx","status_5xx"',
      `"${day(89)}","${first.id}","first, ""the best""","7","3","10","0","0","0","0"`,
      `"${day(2)}","${second.id}","x;'=2+5;","0","40","40","0","0","0","0"`,
      `"${day(2)}","","dashboard","2","0","2","0","0","0","0"`,
      `"${day(0)}","${first.id}","first, ""the best""","1","0","1","0","0","0","0"`,
      '',
    ]);

    const byKind = await visitor.get('/dashboard');
    expect(figure(byKind, 'plotted')).toBe(53);
    expect(tableOf(byKind)).toEqual([
      ['Day', 'Searches', 'Lookups', 'Total'],
      [day(0), '1', '0', '1'],
      [day(2), '2', '40', '42'],
      [day(89), '7', '3', '10'],
      ['Total', '10', '43', '53'],
    ]);
    expect(barsOf(byKind)).toEqual([
      '10, Searches: 7, Lookups: 3',
      '42, Searches: 2, Lookups: 40',
      '1, Searches: 1',
    ]);

    const byKey = await visitor.get('/dashboard?by=key');
    expect(tableOf(byKey)).toEqual([
      ['Day', 'x;=2+5;', 'first, "the best"', 'Dashboard (Try it)', 'Total'],
      [day(0), '0', '1', '0', '1'],
      [day(2), '40', '0', '2', '42'],
      [day(89), '0', '10', '0', '10'],
      ['Total', '40', '11', '2', '53'],
    ]);
  });

  test('begin with the first call, and with the days or the period that the reader chooses', async () => {
    const visitor = createVisitor(service.baseUrl);
    const { accountId } = await signUp(visitor);
    const day = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);
    const look = async (query = '') => {
      const page = await visitor.get(`/dashboard${query}`);
      return {
        days: tableOf(page)
          .slice(1, -1)
          .map(([name]) => name),
        since: /since (\d+ \w+ \d+)/.exec(page.textOf('.calls .lead')!)![1],
        current: [...page.document.querySelectorAll('.tabs [aria-current]')].map((tab) => tab.textContent),
      };
    };
    const named = (name: string) => {
      const [year, month, date] = name.split('-').map(Number) as [number, number, number];
      return `${date} ${'Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec'.split(' ')[month - 1]} ${year}`;
    };
    const store = (daysAgo: number) =>
      storeCalls(service.sql, accountId, [{ daysAgo, keyId: '', kind: 'search', calls: 5 }]);
    await store(20);
    await store(3);
    expect(await look()).toEqual({
      days: [day(3), day(20)],
      since: named(day(20)),
      current: ['90 days', 'By kind'],
    });
    expect(await look('?days=7&by=key')).toEqual({
      days: [day(3)],
      since: named(day(6)),
      current: ['7 days', 'By key'],
    });
    await changePlan(
      service.sql,
      accountId,
      'plus',
      { periodStart: new Date(Date.now() - 5 * 86_400_000) },
      'test',
    );
    expect(await look('?days=period')).toMatchObject({ days: [day(3)], since: named(day(5)) });
    expect(await look('?days=1000')).toMatchObject({ days: [day(3), day(20)] });
    // The decoder of a text would drop the BOM.
    const Cookie = [...visitor.cookies].map((pair) => pair.join('=')).join('; ');
    const csv = await fetch(`${service.baseUrl}/dashboard/usage.csv?days=7&separator=semicolon`, {
      headers: { Cookie },
    });
    expect(Buffer.from(await csv.arrayBuffer()).toString()).toBe(
      `\ufeff"day";"key_id";"key_name";"searches";"lookups";"calls";"rate_limit_exceeded";"monthly_quota_exceeded";"other_4xx";"status_5xx"\r\n"${day(3)}";"";"dashboard";"5";"0";"5";"0";"0";"0";"0"\r\n`,
    );
  });

  test('with many keys the busiest five have a colour of their own, and nothing is left out', async () => {
    const visitor = createVisitor(service.baseUrl);
    const { accountId } = await signUp(visitor);
    await changePlan(service.sql, accountId, 'plus', {}, 'test');
    for (let index = 1; index <= 9; index += 1) {
      const { id } = await createKey(
        service.sql,
        accountId,
        index > 7 ? 'same name' : `key ${index}`,
        'test',
      );
      await storeCalls(service.sql, accountId, [{ daysAgo: 1, keyId: id, kind: 'search', calls: index }]);
    }
    const [heading, row] = tableOf(await visitor.get('/dashboard?by=key'));
    expect(heading).toEqual([
      'Day',
      'same name',
      'same name (2)',
      'key 7',
      'key 6',
      'key 5',
      'Other keys',
      'Total',
    ]);
    expect(row!.slice(1)).toEqual(['9', '8', '7', '6', '5', '10', '45']);
  });

  test('the page with a full plot of 90 days stays under 100 kB, with all that it loads', async () => {
    const visitor = createVisitor(service.baseUrl);
    const { accountId } = await signUp(visitor);
    const calls = Array.from({ length: 90 }, (_, daysAgo) =>
      (['search', 'lookup'] as const).map((kind) => ({ daysAgo, keyId: '', kind, calls: 100 + daysAgo })),
    );
    await storeCalls(service.sql, accountId, calls.flat());
    const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const load = async (path: string) => {
      const response = await fetch(service.baseUrl + path, {
        headers: { Cookie: cookie, 'Accept-Encoding': 'gzip' },
        decompress: false,
      });
      return { bytes: (await response.arrayBuffer()).byteLength, headers: response.headers };
    };
    const page = await load('/dashboard');
    expect(page.headers.get('content-encoding')).toBe('gzip');
    const { document } = await visitor.get('/dashboard');
    const addresses = [...document.querySelectorAll('link[href], script[src]')].map(
      (element) => element.getAttribute('href') ?? element.getAttribute('src') ?? '',
    );
    expect(addresses.length).toBe(4);
    let total = page.bytes;
    for (const address of addresses) {
      const asset = await load(address);
      expect([address, asset.headers.get('content-encoding')]).toEqual([
        address,
        address.includes('woff2') ? null : 'gzip',
      ]);
      expect(asset.headers.get('cache-control')).toContain('immutable');
      total += asset.bytes;
    }
    expect(total).toBeLessThan(60_000);
  });
});

describe('credit history', () => {
  test('lists every grant with date, amount, reference and note, the latest first', async () => {
    const visitor = createVisitor(service.baseUrl);
    const { accountId } = await signUp(visitor);
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
      '"grant","5","1005","",""',
      '"grant","1000","1000","17","invoice 17"',
    ]);
  });
});

describe('Try it', () => {
  test('runs the metered chain: a token and a credit each, counted as made in the dashboard', async () => {
    const visitor = createVisitor(service.baseUrl);
    await signUp(visitor);
    const key = await makeKey(visitor);
    const search = await visitor.submit('/dashboard/try', { q: 'abaco', kind: 'search' });
    expect(search.textOf('.badge[role=status]')).toBe('200 · 0 companies');
    expect(search.text).toContain('RateLimit-Remaining');
    expect(search.textOf('#request')).toContain(`${service.url}/companies?q=abaco`);
    expect(search.textOf('main .lead')).toContain('499 left');
    expect(search.textOf('main .hint')).toMatch(/^Took \d+ ms · 1 credit spent$/);
    // As the button beside a company that was found sends it.
    const lookup = await visitor.submit('/dashboard/try', { q: 'abaco', lookup: NIF });
    expect(lookup.textOf('.badge[role=status]')).toBe('200');
    expect(lookup.document.querySelector('#q')!.getAttribute('value')).toBe(NIF);
    expect(lookup.textOf('main dl')).toContain('Nexperience');
    const { body } = await call(service.url, '/usage', { key });
    expect(body.data.quotas.requests.used).toBe(2);
    expect(body.data.rateLimit.remaining).toBeLessThanOrEqual(18);
    const csv = (await visitor.get('/dashboard/usage.csv')).text;
    expect(csv).toContain(',"","dashboard","1","1","2"');
  });

  test('a problem is a sentence in the language of the reader, and says what it cost', async () => {
    const visitor = createVisitor(service.baseUrl, { language: 'pt' });
    const { accountId } = await signUp(visitor);
    const unknown = await visitor.submit('/dashboard/try', { q: '500000000', kind: 'lookup' });
    expect(unknown.textOf('main')).toContain('Não foi possível consultar a empresa.');
    expect(unknown.textOf('main .hint')).toEndWith('1 crédito gasto');
    await changeLimits(service.sql, accountId, { includedCredits: 0 }, 'test');
    const refused = await visitor.submit('/dashboard/try', { q: 'abaco', kind: 'search' });
    expect(refused.textOf('main .hint')).toEndWith('nenhum crédito gasto');
    const link = refused.document.querySelector('[data-forget-form] p a')!;
    expect(link.getAttribute('href')).toBe('/problems/monthly-quota-exceeded?lang=pt');
  });

  test('what the API would answer 400 is no call, and the page says so', async () => {
    const visitor = createVisitor(service.baseUrl);
    const { accountId } = await signUp(visitor);
    const slips = [
      ...['', '  ', '.', '..', 'costa', '123', 'PT500002576'].map((q) => [
        'lookup',
        q,
        'Write the NIF to look up',
      ]),
      ['lookup', '500 002 577', 'The check digit of this NIF is wrong'],
      ['search', '  ', 'Write a name or a NIF'],
    ] as [kind: string, q: string, message: string][];
    for (const [kind, q, message] of slips) {
      const answer = await visitor.submit('/dashboard/try', { q, kind });
      expect([q, answer.status]).toEqual([q, 422]);
      expect(answer.textOf('[role=alert]')).toStartWith(message);
      expect(answer.textOf('[role=alert]')).toEndWith('Nothing was charged.');
      expect(answer.textOf('#request')).toBe(null);
    }
    const [account] = await service.sql`SELECT used FROM balances WHERE account_id = ${accountId}`;
    expect(account!.used).toBe(0);
  });

  test('a query that is too long is cut between its characters', async () => {
    const visitor = createVisitor(service.baseUrl);
    await signUp(visitor);
    const cut = 'a'.repeat(499);
    const answer = await visitor.submit('/dashboard/try', { q: `${cut}😀b`, kind: 'search' });
    expect(answer.status).toBe(200);
    expect(answer.textOf('#request')).toEndWith(`${cut}'`);
    expect(answer.document.querySelector('#q')!.getAttribute('value')).toBe(cut);
  });

  test('is refused as any call is: without credits 429, without tokens 429', async () => {
    const visitor = createVisitor(service.baseUrl);
    const { accountId } = await signUp(visitor);
    await changeLimits(service.sql, accountId, { includedCredits: 1, requestsPerMinute: 3 }, 'test');
    const status = async () => {
      const answer = await visitor.submit('/dashboard/try', { q: 'abaco', kind: 'search' });
      return `${answer.textOf('.badge[role=status]')} ${/problems\/([a-z-]+)/.exec(answer.text)?.[1] ?? ''}`;
    };
    expect(await status()).toBe('200 · 0 companies ');
    expect(await status()).toBe('429 monthly-quota-exceeded');
    expect(await status()).toBe('429 monthly-quota-exceeded');
    expect(await status()).toBe('429 rate-limit-exceeded');
    const [account] = await service.sql`SELECT used FROM balances WHERE account_id = ${accountId}`;
    expect(account!.used).toBe(1);
  });

  test('hostile queries come back as text', async () => {
    const visitor = createVisitor(service.baseUrl);
    await signUp(visitor);
    const queries = [
      '<script>alert(1)</script>',
      '"><img src=x onerror=alert(1)>',
      "'; curl evil #",
      '\u202e%00%zz',
      '*',
    ];
    for (const q of queries) {
      const answer = await visitor.submit('/dashboard/try', { q, kind: 'search' });
      expect([q, answer.status]).toEqual([q, 200]);
      expect(answer.document.querySelectorAll('script:not([src]), img').length).toBe(0);
      expect(answer.document.querySelector('#q')!.getAttribute('value')).toBe(q);
      // Between its single quotes the address holds none: the line can be pasted into a shell.
      expect(answer.textOf('#request')!.match(/'/g)!.length).toBe(2);
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
    const tried = await visitor.submit('/dashboard/try', { q: NIF, kind: 'lookup' });
    expect(tried.textOf('#answer-json')).toContain('Nexperience');
    const pages = [tried];
    for (const page of ['', '?by=key', '/keys', '/credits', '/settings', `/keys/${key!.id}/revoke`]) {
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
    const visitor = createVisitor(service.baseUrl);
    await signUp(visitor);
    for (const path of [`?done=${HOSTILE}&by=${HOSTILE}`, `/keys/${HOSTILE}/revoke`, `/${HOSTILE}`]) {
      const { text } = await visitor.get(`/dashboard${encodeURI(path)}`);
      expect(text).not.toContain('alert(1)');
    }
  });
});

test('a name of what every object has is no notice', async () => {
  const visitor = createVisitor(service.baseUrl);
  await signUp(visitor);
  for (const name of ['constructor', '__proto__', 'toString']) {
    const page = await visitor.get(`/dashboard/settings?done=${name}`);
    expect(page.textOf('[role=status]')).toBeNull();
  }
});

describe('languages', () => {
  test('Portuguese and English by the preference of the browser, with their numbers and dates', async () => {
    const visitor = createVisitor(service.baseUrl, { language: 'fr, pt-PT;q=0.8, en;q=0.5' });
    const { accountId } = await signUp(visitor);
    await grantCredits(service.sql, accountId, { credits: 12345 }, 'test');
    const portuguese = await visitor.get('/dashboard');
    expect(portuguese.headers.get('content-language')).toBe('pt-PT');
    expect(portuguese.document.documentElement.getAttribute('lang')).toBe('pt-PT');
    expect(portuguese.textOf('main')).toContain('Chamadas disponíveis');
    expect(portuguese.textOf('[data-figure=credits]')!.replace(/\s/g, ' ')).toBe('12 345');
    const english = await visitor.get('/dashboard', { 'Accept-Language': 'en-GB' });
    expect(english.textOf('main')).toContain('Available calls');
    expect(english.textOf('[data-figure=credits]')).toBe('12,345');
  });
});

function tableOf({ document }: PageAnswer): string[][] {
  return [...document.querySelectorAll('table.numbers tr')].map((row) =>
    [...row.children].map((cell) => {
      const time = cell.querySelector('time');
      return time?.getAttribute('datetime') ?? cell.textContent!.trim();
    }),
  );
}

/** The titles of the plot's bars, without their days: the day's total first. */
function barsOf({ document }: PageAnswer): string[] {
  return [...document.querySelectorAll('.plot title')].map((title) =>
    title.textContent!.replace(/^[^:]+: /, '').replaceAll('\n', ', '),
  );
}
