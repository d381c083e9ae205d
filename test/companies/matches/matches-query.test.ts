import { expect, test } from 'bun:test';
import { parseMatchQuery } from '../../../src/companies/matches/matches-query.ts';

const eight = { kind: 'words', normalized: 'a b c d e f g h', before: [...'abcdefg'], last: 'h' };
const LONG = 'x'.repeat(9_001);

test.each<[q: string, query: object]>([
  // Each word once before the last, which may be the beginning of one.
  [
    '  Padaria de BRÁ',
    { kind: 'words', normalized: 'padaria de bra', before: ['padaria', 'de'], last: 'bra' },
  ],
  ['a b a b', { kind: 'words', normalized: 'a b a b', before: ['a', 'b'], last: 'b' }],
  ['Ábaco, Lda', { kind: 'words', normalized: 'abaco', before: [], last: 'abaco' }],
  // Of over eight words the first eight are asked, and trailing legal forms are none.
  ['a b c d e f g h', eight],
  ['a b c d e f g h, S. A.', eight],
  ['a b c d e f g h i', { ...eight, sent: 9 }],
  ['a b c d e f g h i j, Unipessoal, Lda', { ...eight, sent: 10 }],
  [
    'a, Lda b c d e f g h',
    { kind: 'words', normalized: 'a lda b c d e f g', before: ['a', 'lda', ...'bcdef'], last: 'g', sent: 9 },
  ],
  [
    'a '.repeat(5_000),
    { kind: 'words', normalized: 'a a a a a a a a', before: ['a'], last: 'a', sent: 5_000 },
  ],
  [`${LONG} b c d e f g h i`, { kind: 'nothing', sent: 9 }],
  ['um dois tres quatro cinco seis sete oito 509 442 013', { kind: 'nif', nif: '509442013' }],
  // What normalizes to nothing, or is longer than any name, finds nothing.
  ...['***', '\u0301', LONG].map((q): [string, object] => [q, { kind: 'nothing' }]),
])('the query of a text, case %#', (q, query) => {
  expect(parseMatchQuery(q)).toEqual(query as ReturnType<typeof parseMatchQuery>);
});
