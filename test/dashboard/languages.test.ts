/** No page of one language has a sentence of the other. */
import { afterAll, expect, test } from 'bun:test';
import { invite } from '../../src/dashboard/account/invitations.ts';
import { MESSAGES } from '../../src/dashboard/messages.ts';
import type { Language } from '../../src/dashboard/ui/language.ts';
import { PROBLEMS, REASONS } from '../../src/http/problems.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';
import { openConsent, registerAgent } from './connections/agent.ts';
import { memberPages, VISITOR_PAGES } from './full-account.ts';
import { startDashboardService, storeCalls } from './service.ts';
import { createMember, createMemberWithKey, createVisitor, makeKey } from './visitor.ts';

const service = await startDashboardService({
  CONTACT: 'mailto:help@example.com',
  OAUTH_REGISTRATION: 'on',
});
afterAll(() => service.stop());

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

for (const [language, other] of [
  ['pt', 'en'],
  ['en', 'pt'],
] as const)
  test(`no page in ${language} has a sentence of the texts in ${other}`, async () => {
    const pages = await readPages(language);
    const foreign = [...SENTENCES[other]];
    expect(foreign.length).toBeGreaterThan(300);
    const found = [...pages].flatMap(([path, text]) =>
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
  expect(
    texts.filter((text) =>
      /(?<!\d)1 (\w+ )?(credits|créditos|keys|chaves|requests|pedidos|companies|empresas)\b|restam 1/i.test(
        text,
      ),
    ),
  ).toEqual([]);
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
