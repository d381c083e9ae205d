/** Answers of matches that are kept in memory. */
import { expect, test } from 'bun:test';
import { normalizeName, sortKey } from '../../src/companies/name.ts';
import { keepMatches } from '../../src/matches/keeping.ts';
import { type MatchQuery, parseMatchQuery } from '../../src/matches/query.ts';
import { answerCached, SEARCHES } from '../../src/search/answer.ts';
import { createAnswerCache } from '../../src/search/answer-cache.ts';
import { parseQuery } from '../../src/search/query.ts';
import { readAnswer } from '../../src/search/schema.ts';
import { numbered, testEntries } from '../search/entries.ts';
import { createMatchOracle } from './oracle.ts';

const entries = testEntries();
const oracle = createMatchOracle(entries);
const nothing = { entries: [], index: 'one' };

/** A cache of answers in front of the oracle, which counts its queries. */
function createAnswers(limit: number) {
  const cache = createAnswerCache(50_000_000);
  let asked = 0;
  const find = async (query: MatchQuery) => {
    asked += 1;
    if (query.kind !== 'words') return nothing;
    return { entries: oracle(query.normalized, limit), index: 'one' };
  };
  const answer = answerCached(
    { find },
    keepMatches('match', limit),
    cache,
    () => 'one',
    () => 0,
  );
  return { answer, cache, asked: () => asked };
}

test.each([20, 5])(
  'names typed letter by letter, words in any order, get the oracle’s answers (%p entries)',
  async (limit) => {
    const { answer, cache, asked } = createAnswers(limit);
    await answer(parseMatchQuery('zzz')); // the first query reaches the directory in any case: no answer came before it
    let typed = 0;
    for (const { legalName } of entries.filter((_, position) => position % 9 === 0)) {
      const text = [...normalizeName(legalName).split(' ').toReversed().slice(0, 8).join(' ')];
      for (let length = 1; length <= text.length; length += 2) {
        const q = text.slice(0, length).join('');
        const query = parseMatchQuery(q);
        if (query.kind !== 'words') continue;
        typed += 1;
        const found = readAnswer(await answer(query));
        expect([q, found.map(({ nif }) => nif)]).toEqual([q, oracle(q, limit).map(({ nif }) => nif)]);
      }
    }
    expect(asked()).toBeLessThan(typed / 2);
    expect(cache.misses).toBe(asked() - 1); // the first query did not look
    expect(cache.hits + cache.misses).toBe(typed);
  },
);

test('answers of searches, of queries and of several queries are kept apart', () => {
  const query = parseMatchQuery('azul mar');
  const keys = [
    SEARCHES.keyOf(parseQuery('azul mar')),
    ...(['match', 'matches'] as const).map((kind) => keepMatches(kind, 20).keyOf(query)),
  ];
  const cache = createAnswerCache(100_000);
  for (const [own, key] of keys.entries()) {
    cache.set('one', key!.replace(' mar', ''), `${own}`, true);
    for (const [other, later] of keys.entries())
      expect(cache.getComplete('one', later!)).toBe(other > own ? null : `${other}`);
  }
});

test('a longer query puts names in its own order', () => {
  const names = ['Braga Padaria', 'Padaria Braga', 'Padaria Bragança'];
  const inOrder = numbered(500_000_000, names).toSorted((a, b) =>
    sortKey(a.legalName) < sortKey(b.legalName) ? -1 : 1,
  );
  const { narrow } = keepMatches('match', 20);
  expect(narrow(inOrder, 'padaria').map(({ legalName }) => legalName)).toEqual([
    'Padaria Braga',
    'Padaria Bragança',
    'Braga Padaria',
  ]);
  expect(narrow(inOrder, 'padaria braga').map(({ legalName }) => legalName)).toEqual([
    'Padaria Braga',
    'Padaria Bragança',
    'Braga Padaria',
  ]);
  expect(narrow(inOrder, 'braga pad').map(({ legalName }) => legalName)).toEqual([
    'Braga Padaria',
    'Padaria Braga',
  ]);
});
