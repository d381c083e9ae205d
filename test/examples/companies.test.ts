/** The example of a search, a lookup and the usage: with a test key, except in the test about what is paid. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { PROBLEMS, type Problem } from '../../src/http/problems.ts';
import type { Caller } from '../support/api.ts';
import { outcomeOf } from '../support/command.ts';
import { createTestKey } from '../support/service.ts';
import { LANGUAGES, startExamples } from './programs.ts';

const { api, inFolder, run, start } = await startExamples();
afterAll(() => api.stop());

const after = (kind: Problem['kind'], wait: string): Problem => ({ kind, headers: { 'Retry-After': wait } });
const CALLS = ['/api/v1/companies', '/api/v1/companies/599910020', '/api/v1/usage'];

test('the types that are generated from the OpenAPI document fit the TypeScript example', async () => {
  expect(await inFolder('run', 'generate')).toMatchObject({ code: 0 });
  expect(await inFolder('run', 'typecheck')).toMatchObject({ code: 0 });
});

describe.each(LANGUAGES)('the example in %s', (language) => {
  let caller: Caller;
  let testKey: string;
  beforeAll(async () => {
    caller = await api.caller();
    testKey = await createTestKey(api.sql, caller.accountId);
  });

  test('searches, looks the first company up and shows the credits', async () => {
    const { code, stdout, stderr, requests } = await run(language, testKey);
    expect([code, stderr]).toEqual([0, '']);
    // The same in every language.
    expect(stdout).toBe(
      [
        '599910020 Padaria Ábaco & Filhos, Lda',
        '599910038 PADARIA ABACO UNIPESSOAL, LDA',
        '599910011 Padaria Ábaco, Lda',
        'Padaria Ábaco & Filhos, Lda, Lisboa, tax debt from 50001 EUR',
        'credits left: 500\n',
      ].join('\n'),
    );
    expect(requests.map(({ path }) => path)).toEqual(CALLS);
    expect(await api.ledger(caller)).toEqual({ used: 0, credits: 0 });
  });

  test('costs two credits with a key that is no test key', async () => {
    const payer = await api.caller();
    const { code, stdout } = await run(language, payer.key, { words: ['ábac'] });
    expect(code).toBe(0);
    expect(stdout).toEndWith('credits left: 498\n');
    expect(await api.ledger(payer)).toEqual({ used: 2, credits: 0 });
  });

  test('waits as long as Retry-After says, or until a date as proxies send it, and asks again', async () => {
    const { code, stderr, requests } = await run(language, testKey, {
      first: [
        after('rate-limit-exceeded', '1'),
        after('service-unavailable', '0'),
        after('service-unavailable', new Date(0).toUTCString()),
      ],
    });
    expect([code, stderr]).toEqual([0, '']);
    expect(requests.map(({ path }) => path)).toEqual([...Array(3).fill(CALLS[0]), ...CALLS]);
    expect(requests[1]!.atMs - requests[0]!.atMs).toBeGreaterThan(900);
  });

  test('says the detail of a problem in one line, and asks once for one that costs a credit', async () => {
    const { code, stderr, requests } = await run(language, testKey, { words: ['search-failed'] });
    expect([code, stderr]).toEqual([1, `search-failed: ${PROBLEMS['search-failed'].cause}\n`]);
    // It costs a credit each time.
    expect(requests).toHaveLength(1);
  });

  test('gives up after four attempts', async () => {
    const { code, stderr, requests } = await run(language, testKey, {
      first: Array.from({ length: 9 }, () => after('service-unavailable', '0')),
    });
    expect([code, requests.length]).toEqual([1, 4]);
    expect(stderr).toContain('service-unavailable');
  });

  test('asks once more for a lost answer that is not free again, and says what that costs', async () => {
    const caller = await api.caller();
    const { code, stderr, requests } = await run(language, caller.key, { words: ['ab'], lost: [1] });
    expect([code, requests.length]).toEqual([0, 4]);
    expect(stderr).toMatch(/^no answer: .*\. Asked once more, which costs again\n$/);
    expect((await api.ledger(caller)).used).toBe(3);
    const twice = await run(language, caller.key, { words: ['ab'], lost: [1, 2] });
    expect([twice.code, twice.requests.length]).toEqual([1, 2]);
  });

  test('says that nothing answers', async () => {
    const { code, stderr } = await outcomeOf(start('http://127.0.0.1:9', language, testKey, {}));
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^no answer: .*\nno answer from http:\/\/127\.0\.0\.1:9: [^\n]+\n$/),
    ]);
  });

  test('asks once when the key is wrong, and when the credits are used up', async () => {
    const wrongKey = await run(language, 'svc_wrong');
    expect([wrongKey.code, wrongKey.requests.length]).toEqual([1, 1]);
    expect(wrongKey.stderr).toContain('unauthorized');
    expect(wrongKey.stderr).toContain('API_KEY');
    const noCredits = await run(language, testKey, { words: ['monthly-quota-exceeded'] });
    expect([noCredits.code, noCredits.requests.length]).toEqual([1, 1]);
    expect(noCredits.stderr).toMatch(/monthly-quota-exceeded/);
    expect(noCredits.stderr).toMatch(/no credits until 20\d\d-/);
  });
});
