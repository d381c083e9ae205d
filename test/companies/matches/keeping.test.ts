/** Answers of matches that are kept in memory. */
import { expect, test } from 'bun:test';
import { keyOfMatch } from '../../../src/companies/matches/open.ts';
import { parseMatchQuery } from '../../../src/companies/matches/query.ts';
import { keyOfSearch } from '../../../src/companies/search/answer.ts';
import { parseQuery } from '../../../src/companies/search/query.ts';

test('answers of searches and of matches are kept apart', () => {
  const [search, match] = [keyOfSearch(parseQuery('azul mar')), keyOfMatch(parseMatchQuery('azul mar'))];
  expect([search, match]).toEqual(['azul mar', ' azul mar']);
});

test('the answer of a NIF is not kept', () => {
  expect(keyOfSearch(parseQuery('500000000'))).toBeNull();
  expect(keyOfMatch(parseMatchQuery('500000000'))).toBeNull();
});
