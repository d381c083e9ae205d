import { expect, test } from 'bun:test';
import { type AskedQuery, parseMatchQuery } from '../../../src/companies/matches/matches-query.ts';

test('a query is its words: each once before the last, which may be the beginning of one', () => {
  expect(parseMatchQuery('  Padaria de BRÁ')).toEqual({
    kind: 'words',
    normalized: 'padaria de bra',
    before: ['padaria', 'de'],
    last: 'bra',
  });
  expect(parseMatchQuery('a b a b')).toMatchObject({ before: ['a', 'b'], last: 'b' });
  expect(parseMatchQuery('Ábaco, Lda')).toMatchObject({ before: [], last: 'abaco' });
});

test('of over eight words the first eight are asked, and trailing legal forms are none', () => {
  const eight = {
    kind: 'words',
    normalized: 'a b c d e f g h',
    before: [...'abcdefg'],
    last: 'h',
  } satisfies AskedQuery;
  expect(parseMatchQuery('a b c d e f g h')).toEqual(eight);
  expect(parseMatchQuery('a b c d e f g h, S. A.')).toEqual(eight);
  expect(parseMatchQuery('a b c d e f g h i')).toEqual({ ...eight, cut: { used: 8, sent: 9 } });
  expect(parseMatchQuery('a b c d e f g h i j, Unipessoal, Lda')).toEqual({
    ...eight,
    cut: { used: 8, sent: 10 },
  });
  expect(parseMatchQuery('a, Lda b c d e f g h i')).toMatchObject({ normalized: 'a lda b c d e f g' });
  expect(parseMatchQuery('a '.repeat(5_000))).toMatchObject({
    normalized: 'a a a a a a a a',
    cut: { used: 8, sent: 5_000 },
  });
  expect(parseMatchQuery(`${'x'.repeat(9_001)} b c d e f g h i`)).toEqual({
    kind: 'nothing',
    cut: { used: 8, sent: 9 },
  });
});

test('a NIF is a NIF query, and what normalizes to nothing finds nothing', () => {
  expect(parseMatchQuery('um dois tres quatro cinco seis sete oito 509 442 013')).toEqual({
    kind: 'nif',
    nif: '509442013',
  });
  for (const q of ['***', '\u0301', 'x'.repeat(9_001)])
    expect(parseMatchQuery(q)).toEqual({ kind: 'nothing' });
});
