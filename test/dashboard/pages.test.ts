/** Rules of every page: its rows, its numbers, what an address can't bring in, and its language: none has a sentence of the other one. */
import { afterAll, expect, test } from 'bun:test';
import { invite } from '../../src/dashboard/account/invitations.ts';
import { MESSAGES } from '../../src/dashboard/messages.ts';
import { ROUTES } from '../../src/dashboard/routes.ts';
import type { Language } from '../../src/dashboard/ui/language.ts';
import { PROBLEMS, REASONS } from '../../src/http/problems.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';
import { openConsent, registerAgent } from './connections/agent.ts';
import { fillAccount, memberPages, VISITOR_PAGES } from './full-account.ts';
import { startDashboardService, storeCalls } from './service.ts';
import { createMember, createMemberWithKey, createVisitor, formTokenOf, makeKey } from './visitor.ts';

const service = await startDashboardService({
  ...{ CONTACT: 'mailto:help@example.com', CREDITS_PRICE: '1500 EUR 100000' },
  ...{ SMTP_URL: 'smtp://127.0.0.1:9', OAUTH_REGISTRATION: 'on' },
});
afterAll(() => service.stop());

test('long lists have pages of 100 rows, and a link to the rest', async () => {
  const { visitor, accountId } = await createMember(service);
  await service.sql`
    INSERT INTO account_events (account_id, kind, actor, credits, balance, note)
    SELECT ${accountId}, 'credits', 'test', 1, n, 'grant ' || n FROM generate_series(1, 250) AS n`;
  await service.sql`UPDATE balances SET credits = 250 WHERE account_id = ${accountId}`;
  const look = async (path: string) => {
    const page = await visitor.get(path);
    const notes = page.textsOf('.list tbody td:last-child');
    return { shown: [notes.length, notes[0], notes.at(-1)], links: page.linksOf('main .contents a') };
  };
  for (const [path, sign] of [
    ['/dashboard/credits', ''],
    ['/dashboard/settings/history', '+1 · '],
  ] as const) {
    const note = (n: number) => `${sign}grant ${n}`;
    const one = await look(path);
    expect(one).toEqual({
      shown: [100, note(250), note(151)],
      links: [expect.stringMatching(/\?before=\d+$/)],
    });
    const two = await look(one.links[0]!);
    expect(two.shown).toEqual([100, note(150), note(51)]);
    const [latest, oldest] = two.links;
    const three = await look(oldest!);
    expect([three.shown[1], three.links.length]).toEqual([note(50), 1]);
    expect(await look(latest!)).toEqual(one);
    expect(await look(`${path}?before=x`)).toEqual(one);
    expect(await look(`${path}?before=1`)).toEqual({ shown: [0, undefined, undefined], links: [`${path}?`] });
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

test('a name of what every object has is no notice, nor is the notice of another page', async () => {
  const { visitor } = await createMember(service);
  for (const name of ['constructor', '__proto__', 'toString', 'deleted', 'revoked']) {
    const page = await visitor.get(`/dashboard/settings?done=${name}`);
    expect(page.textOf('[role=status]')).toBeNull();
  }
});

test('each number of a page has its groups of three digits', async () => {
  const { visitor, accountId } = await createMember(service);
  const pages = await memberPages(service, accountId, await fillAccount(service, accountId));
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

/** The texts of a table, without the values in them: parts of at least three words. */
function partsOf(texts: unknown): string[] {
  // A text that differs by its value has a part that does not.
  if (typeof texts === 'function') return partsOf(String(texts(...Array(4).fill('\n'))));
  if (typeof texts === 'string') {
    const parts = texts.split(/\n|`[^`]*`/).map((part) => part.replace(/\s+/g, ' ').trim());
    return parts.filter((part) => part.split(' ').length >= 3);
  }
  return Object.values(texts as object).flatMap(partsOf);
}

const HEADINGS = API_ROUTES.map(({ detail }) => detail);
const REFERENCE = {
  en: [
    Object.values(PROBLEMS).map(({ title, cause, fix }) => [title, cause, fix]),
    Object.values(REASONS).map(([en]) => en),
    HEADINGS.map(({ summary }) => summary),
  ],
  pt: [
    Object.values(PROBLEMS).map(({ pt }) => pt),
    Object.values(REASONS).map(([, pt]) => pt),
    HEADINGS.map(({ pt }) => [pt.summary, pt.cost]),
  ],
};
const SENTENCES = {
  en: new Set(partsOf([MESSAGES.en, REFERENCE.en])),
  pt: new Set(partsOf([MESSAGES.pt, REFERENCE.pt])),
};

/** The texts of every page, and those that readers hear or see on a pointer. */
async function readPages(language: Language): Promise<Map<string, string>> {
  const visitor = createVisitor(service.baseUrl, { language, isPatient: true });
  const texts = new Map<string, string>();
  const read = async (path: string, ...statuses: number[]) => {
    const { document, headers, status } = await visitor.get(path, { Accept: 'text/html' });
    expect([path, statuses]).toEqual([path, expect.arrayContaining([status])]);
    if (status === 303) return;
    const lang = { en: 'en', pt: 'pt-PT' }[language];
    const said = [headers.get('content-language'), document.documentElement.getAttribute('lang')];
    expect([path, ...said]).toEqual([path, lang, lang]);
    // Answers of the API, and descriptions of its reference, are in English everywhere.
    for (const english of document.querySelectorAll('[lang=en]:not(html)')) english.remove();
    const attributes = [...document.querySelectorAll('[aria-label], [title]')].map(
      (element) => `${element.getAttribute('aria-label')} ${element.getAttribute('title')}`,
    );
    texts.set(path, `${document.body.textContent} ${attributes.join(' ')}`.replace(/\s+/g, ' '));
  };
  for (const path of VISITOR_PAGES) await read(path, 200, 303, 400, 404);
  const { accountId } = await createMember(service, { visitor });
  await read('/dashboard', 200);
  await makeKey(visitor);
  const [key] = await service.sql`SELECT id FROM api_keys WHERE account_id = ${accountId}`;
  await visitor.submit(`/dashboard/keys/${key!.id}/rotate`, { overlap: '86400' });
  await service.sql`UPDATE api_keys SET expires_at = now() + interval '2 days' WHERE id = ${key!.id}`;
  await storeCalls(service.sql, accountId, [{ daysAgo: 1, keyId: key!.id, kind: 'search', calls: 7 }]);
  await service.sql`UPDATE balances SET used = 500 WHERE account_id = ${accountId}`;
  const pages = (await memberPages(service, accountId, key!.id)).map(([, path]) => `/dashboard${path}`);
  const consent = await openConsent(visitor, await registerAgent(service));
  for (const path of [...pages, consent]) await read(path, 200);
  expect(texts.size).toBeGreaterThan(50);
  return texts;
}

test.each<[Language, Language]>([
  ['pt', 'en'],
  ['en', 'pt'],
])('no page in %s has a sentence of the texts in %s', async (language, other) => {
  const foreign = [...SENTENCES[other]];
  expect(foreign.length).toBeGreaterThan(300);
  const found = [...(await readPages(language))].flatMap(([path, text]) =>
    foreign.filter((sentence) => text.includes(sentence)).map((sentence) => `${path}: ${sentence}`),
  );
  expect(found).toEqual([]);
});

test('no sentence is the same in both languages', () => {
  expect([...SENTENCES.en].filter((sentence) => SENTENCES.pt.has(sentence))).toEqual([]);
});

test('no text has a plural beside a number of one, whichever of its values it is', () => {
  const withOne = (texts: unknown): string[] => {
    if (typeof texts === 'function') return [String(texts(...Array(4).fill('1')))];
    return typeof texts === 'string' ? [] : Object.values(texts as object).flatMap(withOne);
  };
  const texts = withOne([MESSAGES.en, MESSAGES.pt]);
  expect(texts.length).toBeGreaterThan(100);
  const plural =
    /(?<!\d)1 (\w+ )?(credits|créditos|keys|chaves|requests|pedidos|companies|empresas)\b|restam 1/i;
  expect(texts.filter((text) => plural.test(text))).toEqual([]);
});

test('in Portuguese a key is feminine, and a secret and an invitation are masculine', async () => {
  const { visitor, id, accountId } = await createMemberWithKey(service);
  await invite(service.sql, { accountId, email: 'teresa@example.com' }, 'test');
  await service.sql`UPDATE api_keys SET expires_at = now() + interval '30 days' WHERE id = ${id}`;
  await visitor.submit(`/dashboard/keys/${id}/rotate`, { overlap: '86400' });
  const portuguese = { 'Accept-Language': 'pt' };
  const key = await visitor.get(`/dashboard/keys/${id}`, portuguese);
  const members = await visitor.get('/dashboard/settings/members', portuguese);
  expect(key.textOf('.heading .badge')).toStartWith('Válida até');
  expect(key.textOf('main')).toContain('SegredoVálido até');
  expect(members.textOf('main')).toContain('FunçãoVálido até');
});
