/** Answers kept in memory: how many, and when they are given. */
import { beforeEach, describe, expect, test } from 'bun:test';
import { type MatchQuery, parseMatchQuery } from '../../../src/companies/matches/matches-query.ts';
import { type AnswerQuery, answerCached } from '../../../src/companies/search/answer.ts';
import { type AnswerCache, createAnswerCache } from '../../../src/companies/search/answer-cache.ts';
import { type ParsedQuery, parseQuery } from '../../../src/companies/search/search-query.ts';

describe('the cache', () => {
  test('stays below its bound, and lets go of what was used longest ago', () => {
    const cache = createAnswerCache(10_000);
    for (let number = 0; number < 100; number += 1) {
      cache.set(`query ${number}`, 'x'.repeat(1000));
      expect(cache.bytes).toBeLessThanOrEqual(10_000);
      cache.get('query 0');
    }
    expect(cache.get('query 0')).toBeDefined();
    expect(cache.get('query 99')).toBeDefined();
    expect(cache.get('query 50')).toBeUndefined();
  });

  test('does not keep an answer larger than itself, and counts a replaced one once', () => {
    const cache = createAnswerCache(10_000);
    cache.set('azul', 'x'.repeat(6000));
    expect(cache.get('azul')).toBeUndefined();
    cache.set('azul', 'x'.repeat(1000));
    const { bytes } = cache;
    cache.set('azul', 'y'.repeat(1000));
    expect(cache.bytes).toBe(bytes);
  });
});

describe('cached answers', () => {
  let cache: AnswerCache;
  let asked: number;
  let current: number | null;
  let answer: AnswerQuery<ParsedQuery | MatchQuery>;
  /** What each generation has. */
  const NAMES: Record<number, string> = { 1: 'Azul, Lda', 2: 'Azul Novo, Lda' };

  beforeEach(() => {
    cache = createAnswerCache(1_000_000);
    asked = 0;
    const find = async () => {
      asked += 1;
      const generation = current ?? 1;
      return { entries: [{ nif: '500000000', legalName: NAMES[generation]! }], generation };
    };
    answer = answerCached({ find }, cache, { confirmed: () => current });
  });

  const ask = async (q: string, generation: number | null) => {
    current = generation;
    const { data } = JSON.parse(await answer(parseQuery(q))) as { data: { legal_name: string }[] };
    return data[0]!.legal_name;
  };

  test('a query asked again is answered without the directory, word for word', async () => {
    current = 1;
    const first = await answer(parseQuery('azul'));
    expect(await answer(parseQuery('AZÚL, Lda.'))).toBe(first);
    expect([asked, cache.hits]).toEqual([1, 1]);
  });

  test('once another generation is current its answers are given, and after a rollback the old ones', async () => {
    for (const generation of [1, 2, 1]) expect(await ask('azul', generation)).toBe(NAMES[generation]!);
    expect([asked, cache.hits]).toEqual([2, 1]);
  });

  test('a match is not answered by a search of the same text', async () => {
    await ask('azul', 1);
    await answer(parseMatchQuery('azul'));
    await answer(parseMatchQuery('azul'));
    expect([asked, cache.hits]).toEqual([2, 1]);
  });

  test('without a known generation, and for a NIF, the directory is asked', async () => {
    await ask('azul', 1);
    await ask('azul', null);
    await ask('500000000', 1);
    await ask('500000000', 1);
    expect([asked, cache.hits]).toEqual([4, 0]);
    await ask('azul', 1);
    expect([asked, cache.hits]).toEqual([4, 1]);
  });
});
