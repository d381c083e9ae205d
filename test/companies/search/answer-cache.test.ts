/** Answers kept in memory: how many, and when they are given. */
import { beforeEach, describe, expect, test } from 'bun:test';
import { type AnswerSearch, answerCached, keyOfSearch } from '../../../src/companies/search/answer.ts';
import { type AnswerCache, createAnswerCache } from '../../../src/companies/search/answer-cache.ts';
import { parseQuery } from '../../../src/companies/search/query.ts';

describe('the cache', () => {
  test('gives what was set under the same index and query, and nothing else', () => {
    const cache = createAnswerCache(10_000);
    cache.set('one', 'azul', 'A');
    expect(cache.get('one', 'azul')).toBe('A');
    expect(cache.get('one', 'azu')).toBeNull();
    expect(cache.get('two', 'azul')).toBeNull();
    expect([cache.hits, cache.misses]).toEqual([1, 2]);
  });

  test('holds one index: the answers of the one before are gone', () => {
    const cache = createAnswerCache(10_000);
    cache.set('one', 'azul', 'A');
    cache.set('two', 'verde', 'V');
    expect(cache.get('one', 'azul')).toBeNull();
    expect(cache.get('two', 'azul')).toBeNull();
    expect(cache.get('two', 'verde')).toBe('V');
  });

  test('stays below its bound, and lets go of what was used longest ago', () => {
    const cache = createAnswerCache(10_000);
    for (let number = 0; number < 100; number += 1) {
      cache.set('one', `query ${number}`, 'x'.repeat(1000));
      expect(cache.bytes).toBeLessThanOrEqual(10_000);
      cache.get('one', 'query 0');
    }
    expect(cache.get('one', 'query 0')).not.toBeNull();
    expect(cache.get('one', 'query 99')).not.toBeNull();
    expect(cache.get('one', 'query 50')).toBeNull();
  });

  test('does not keep an answer larger than itself, and counts a replaced one once', () => {
    const cache = createAnswerCache(10_000);
    cache.set('one', 'azul', 'x'.repeat(6000));
    expect(cache.get('one', 'azul')).toBeNull();
    cache.set('one', 'azul', 'x'.repeat(1000));
    const { bytes } = cache;
    cache.set('one', 'azul', 'y'.repeat(1000));
    expect(cache.bytes).toBe(bytes);
  });
});

describe('cached answers', () => {
  let cache: AnswerCache;
  let asked: number;
  let current: string | null;
  let answer: AnswerSearch;
  /** What each index has. */
  const NAMES: Record<string, string> = { one: 'Azul, Lda', two: 'Azul Novo, Lda' };

  beforeEach(() => {
    cache = createAnswerCache(1_000_000);
    asked = 0;
    const find = async () => {
      asked += 1;
      const index = current ?? 'one';
      return { entries: [{ nif: '500000000', legalName: NAMES[index]! }], index };
    };
    answer = answerCached({ find }, keyOfSearch, cache, () => current);
  });

  const ask = async (q: string, index: string | null) => {
    current = index;
    const { data } = JSON.parse(await answer(parseQuery(q))) as { data: { legal_name: string }[] };
    return data[0]!.legal_name;
  };

  test('a query asked again is answered without the directory, word for word', async () => {
    current = 'one';
    const first = await answer(parseQuery('azul'));
    expect(await answer(parseQuery('AZÚL, Lda.'))).toBe(first);
    expect([asked, cache.hits]).toEqual([1, 1]);
  });

  test('once another index is current its answers are given, and after a rollback the old ones', async () => {
    for (const index of ['one', 'two', 'one']) expect(await ask('azul', index)).toBe(NAMES[index]!);
    expect([asked, cache.hits]).toEqual([3, 0]);
  });

  test('without a known index, and for a NIF, the directory is asked', async () => {
    await ask('azul', 'one');
    await ask('azul', null);
    await ask('500000000', 'one');
    await ask('500000000', 'one');
    expect([asked, cache.hits]).toEqual([4, 0]);
    await ask('azul', 'one');
    expect([asked, cache.hits]).toEqual([4, 1]);
  });
});
