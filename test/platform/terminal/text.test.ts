import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { fields, printable, printableJson, textTable } from '../../../src/platform/terminal/text.ts';

const CONTROL = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

test('no text gets a control character, a line break or a change of direction onto a terminal', () => {
  expect(printable('a\u001b[2Jb\r\nc\u009bd\u202ee\u2028f')).toBe('a·[2Jb··c·d·e·f');
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => !CONTROL.test(printable(text))),
    { numRuns: 1000 },
  );
});

test('what is no control character stays as it is', () => {
  for (const text of ['Ábaco, Lda', 'São João – "Ação"', '日本', '👩‍👩‍👧', ''])
    expect(printable(text)).toBe(text);
});

test('a JSON document means the same with its control characters escaped', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' })), fc.constantFrom(0, 2), (texts, indent) => {
      const json = printableJson(texts, indent);
      expect(JSON.parse(json)).toEqual(texts);
      expect(json.replaceAll('\n', '')).not.toMatch(CONTROL);
    }),
    { numRuns: 1000 },
  );
});

test('columns line up by what is seen: accents, wide characters, neutralized ones', () => {
  const lines = textTable([
    ['NAME', 'PLAN'],
    ['Ábaco', 'free'],
    ['日本', 'plus'],
    ['a\nb', 'free'],
  ]).split('\n');
  expect(lines).toEqual(['NAME   PLAN', 'Ábaco  free', '日本   plus', 'a·b    free']);
});

test('fields stand in one column, null as a dash', () => {
  expect(fields({ id: 'acc_1', suspended: false, until: null })).toBe(
    'id         acc_1\nsuspended  false\nuntil      –',
  );
});
