import { expect, test } from 'bun:test';
import { parseMatchQuery } from '../../src/matches/query.ts';

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

test('eight words are the most, without trailing legal forms', () => {
  expect(parseMatchQuery('a b c d e f g h')?.kind).toBe('words');
  expect(parseMatchQuery('a b c d e f g h, S. A.')?.kind).toBe('words');
  expect(parseMatchQuery('a b c d e f g h i')).toBeNull();
  expect(parseMatchQuery('a '.repeat(5_000))).toBeNull();
});

test('a NIF is a NIF query, and what normalizes to nothing finds nothing', () => {
  expect(parseMatchQuery('um dois tres quatro cinco seis sete oito 509 442 013')).toEqual({
    kind: 'nif',
    nif: '509442013',
  });
  for (const q of ['***', '\u0301', 'x'.repeat(9_001)])
    expect(parseMatchQuery(q)).toEqual({ kind: 'nothing' });
});
