/** Answers of matches that are kept in memory. */
import { expect, test } from 'bun:test';
import { keyOfMatches } from '../../../src/companies/matches/keeping.ts';
import { parseMatchQuery } from '../../../src/companies/matches/query.ts';
import { keyOfSearch } from '../../../src/companies/search/answer.ts';
import { parseQuery } from '../../../src/companies/search/query.ts';

test('answers of searches, of queries and of several queries are kept apart', () => {
  const query = parseMatchQuery('azul mar');
  const keys = [
    keyOfSearch(parseQuery('azul mar')),
    ...(['match', 'matches'] as const).map((kind) => keyOfMatches(kind)(query)),
  ];
  expect(keys).not.toContain(null);
  expect(new Set(keys).size).toBe(keys.length);
});

test('the answer of a NIF is not kept', () => {
  expect(keyOfSearch(parseQuery('500000000'))).toBeNull();
  expect(keyOfMatches('match')(parseMatchQuery('500000000'))).toBeNull();
});
