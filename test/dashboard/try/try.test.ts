import { afterAll, expect, test } from 'bun:test';
import { changeLimits } from '../../../src/metering/accounts/changes.ts';
import { call } from '../../support/client.ts';
import { storeRecord } from '../../support/records.ts';
import { startDashboardService, usedBy } from '../service.ts';
import { createMember, makeKey } from '../visitor.ts';

const NIF = '509442013';

const service = await startDashboardService();
await storeRecord(service.sql, NIF, 'Nexperience <script>alert(1)</script> Lda');
afterAll(() => service.stop());

test('runs the metered chain: a token and a credit each, counted as made in the dashboard', async () => {
  const { visitor, accountId } = await createMember(service);
  const key = await makeKey(visitor);
  await changeLimits(service.sql, accountId, { requestsPerMinute: 4 }, 'test');
  const search = await visitor.submit('/dashboard/try', { q: 'abaco', kind: 'search' });
  expect(search.textOf('.badge[role=status]')).toBe('200 · 0 companies');
  expect(search.text).toContain('ratelimit-remaining');
  expect(await visitor.textAt('/dashboard', '[data-figure=plotted]')).toBe('1 credit');
  expect(search.textOf('#request')).toContain(`${service.url}/companies?q=abaco`);
  expect(search.textOf('main .lead')).toContain('Credits left: 499');
  expect(search.textOf('[data-forget-form] .hint')).toMatch(/^Took [\d,]+ ms · 1 credit spent$/);
  // As the button beside a company that was found sends it.
  const lookup = await visitor.submit('/dashboard/try', { q: 'abaco', lookup: NIF });
  expect(lookup.textOf('.badge[role=status]')).toBe('200');
  expect(lookup.valueOf('#q')).toBe(NIF);
  expect(lookup.textOf('main dl')).toContain('Nexperience');
  // No debts were imported, which is not "no debts".
  expect(lookup.textOf('main dl')).toEndWith(
    'Share capital€5,000Tax debtsnot importedSocial security debtsnot imported',
  );
  await service.sql`
    UPDATE companies SET details = replace(details::text, '5000.00', '0')::json WHERE nif = ${NIF}`;
  const unknown = await visitor.submit('/dashboard/try', { q: NIF, kind: 'lookup' });
  expect(unknown.textOf('main dl')).toContain('Share capital–');
  const { body } = await call(service.url, '/usage', { key });
  expect(body.data.quotas.requests.used).toBe(3);
  expect(body.data.rateLimit.remaining).toBeWithin(0, 2); // None of four is left. A further one may have come back, which takes 15 s.
  const csv = (await visitor.get('/dashboard/usage.csv')).text;
  expect(csv).toContain(',"","dashboard",1,0,0,2,0,3');
});

test('a problem is a sentence in the language of the reader, and says what it cost', async () => {
  const { visitor, accountId } = await createMember(service, { language: 'pt' });
  const unknown = await visitor.submit('/dashboard/try', { q: '500000000', kind: 'lookup' });
  expect(unknown.textOf('main')).toContain('Não foi possível consultar a empresa.');
  expect(unknown.textOf('[data-forget-form] .hint')).toEndWith('1 crédito gasto');
  await changeLimits(service.sql, accountId, { includedCredits: 0 }, 'test');
  const refused = await visitor.submit('/dashboard/try', { q: 'abaco', kind: 'search' });
  expect(refused.textOf('[data-forget-form] .hint')).toEndWith('nenhum crédito gasto');
  const link = '/problems/monthly-quota-exceeded?lang=pt';
  expect(refused.linksOf('[data-forget-form] p a:has(code)')).toEqual([link]);
});

test('without credits its buttons are off, and one text says why, also beside an answer', async () => {
  const { visitor, accountId } = await createMember(service);
  const buttons = ['.try-form button', '.try-form button[disabled]'];
  expect(buttons.map((await visitor.get('/dashboard/try')).countOf)).toEqual([3, 0]);
  await changeLimits(service.sql, accountId, { includedCredits: 0 }, 'test');
  const page = await visitor.get('/dashboard/try');
  expect(buttons.map(page.countOf)).toEqual([3, 3]);
  expect(page.textOf('.try-form a')).toBe('How to get more credits');
  const refused = await visitor.submit('/dashboard/try', { q: 'abaco', kind: 'search' });
  expect(refused.textOf('[data-forget-form]')).not.toContain('Requests are refused');
});

test('a search by words is a call of its kind, and names how many words it took', async () => {
  const { visitor, accountId } = await createMember(service);
  const empty = await visitor.submit('/dashboard/try', { q: 'uma palavra', kind: 'search' });
  expect(empty.textOf('.try-form [value=match]')).toBe('Search by words 1 credit');
  const answer = await visitor.submit('/dashboard/try', { q: 'a b c d e f g h i', kind: 'match' });
  expect(answer.textOf('.badge[role=status]')).toBe('200 · 0 companies');
  expect(answer.textOf('#request')).toContain(`${service.url}/matches?q=a%20b`);
  expect(answer.textOf('.headers')).toContain('x-query-words: 8 of 9');
  const calls = await service.sql`
    SELECT kind, sum(calls)::int AS calls FROM calls_by_day WHERE account_id = ${accountId} GROUP BY kind ORDER BY kind`;
  expect([...calls]).toEqual([
    { kind: 'match', calls: 1 },
    { kind: 'search', calls: 1 },
  ]);
});

test('what the API would answer 400 is no call, and the page says so', async () => {
  const { visitor, accountId } = await createMember(service);
  for (const [kind, message, ...queries] of [
    ['lookup', 'Write the NIF to look up', '', '  ', '.', '..', 'costa', '123', 'PT500002576'],
    ['lookup', 'The check digit of this NIF is wrong', '500 002 577'],
    ['search', 'Write a name or a NIF', '  '],
  ] as const)
    for (const q of queries) {
      const answer = await visitor.submit('/dashboard/try', { q, kind });
      expect([q, answer.status, answer.textOf('#request')]).toEqual([q, 422, null]);
      expect(answer.textOf('[role=alert]')).toStartWith(message);
      expect(answer.textOf('[role=alert]')).toEndWith('Nothing was charged.');
    }
  expect(await usedBy(service, accountId)).toBe(0);
});

test('a query that is too long is cut between its characters', async () => {
  const { visitor } = await createMember(service);
  const cut = 'a'.repeat(499);
  const answer = await visitor.submit('/dashboard/try', { q: `${cut}😀b`, kind: 'search' });
  expect(answer.status).toBe(200);
  expect(answer.textOf('#request')).toContain(`q=${cut}' `);
  expect(answer.valueOf('#q')).toBe(cut);
});

test('the line of a hostile query can be pasted into a shell: between its single quotes the address holds none', async () => {
  const { visitor } = await createMember(service);
  for (const q of ["'; curl evil #", '"><img src=x onerror=alert(1)>', '\u202e%00%zz', '*']) {
    const answer = await visitor.submit('/dashboard/try', { q, kind: 'search' });
    expect([q, answer.status, answer.valueOf('#q')]).toEqual([q, 200, q]);
    expect(answer.textOf('#request')!.match(/'/g)).toHaveLength(2);
  }
});
