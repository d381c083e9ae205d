/** What commands read from their words, and what they print. */
import { describe, expect, test } from 'bun:test';
import { InvalidArgumentError } from 'commander';
import fc from 'fast-check';
import { fields, printable, printableJson, textTable } from '../../../src/platform/terminal/text.ts';
import { instant, name, wholeNumber } from '../../../src/platform/terminal/values.ts';

/** Each text with what the reader makes of it; `wrong` is wrong usage. */
function reads<T>(read: (text: string) => T, cases: Record<string, T | 'wrong'>): void {
  for (const [text, expected] of Object.entries(cases)) {
    if (expected !== 'wrong') expect([text, read(text)]).toEqual([text, expected]);
    else expect(() => read(text), text).toThrow(InvalidArgumentError);
  }
}

const words = (text: string) => text.split(' ');

describe('an instant', () => {
  test('is RFC 3339, with a zone', () => {
    reads((text) => instant(text).toISOString(), {
      '2026-01-31T00:00:00Z': '2026-01-31T00:00:00.000Z',
      '2026-01-31t00:00:00z': '2026-01-31T00:00:00.000Z',
      '2026-01-31 00:00:00Z': '2026-01-31T00:00:00.000Z',
      '2026-01-31T00:00:00.25Z': '2026-01-31T00:00:00.250Z',
      '2026-01-31T00:30:00+01:00': '2026-01-30T23:30:00.000Z',
      '2024-02-29T12:00:00-12:00': '2024-03-01T00:00:00.000Z',
      '0001-01-01T00:00:00Z': '0001-01-01T00:00:00.000Z',
      '0001-01-01T10:00:00+10:00': '0001-01-01T00:00:00.000Z',
      '9999-12-31T23:59:59.999Z': '9999-12-31T23:59:59.999Z',
    });
  });

  test('that the calendar or the clock does not have, or without its zone, is wrong usage', () => {
    const wrong = [
      '',
      ' 2026-01-31T00:00:00Z',
      ...words(
        'yesterday 2026-01-31 2026-01-31T00:00:00 2026-01-31T00:00Z 1767225600 +002026-01-01T00:00:00Z',
      ),
      ...words('2026-02-29T00:00:00Z 2026-04-31T00:00:00Z 2026-13-01T00:00:00Z 2026-00-01T00:00:00Z'),
      ...words('2026-01-01T24:00:00Z 2026-01-01T23:60:00Z 2016-12-31T23:59:60Z 2026-01-01T00:00:00+25:00'),
      ...words('0000-12-31T23:59:59Z 0001-01-01T00:00:00+10:00 9999-12-31T23:59:59-10:00'),
    ];
    reads((text) => instant(text).toISOString(), Object.fromEntries(wrong.map((text) => [text, 'wrong'])));
  });
});

test('a whole number is digits within its range', () => {
  const wrong = ['', '-1', '+5', '1.5', '1e3', '0x10', ' 5', '5 ', '11', '99999999999999999999', '٣'];
  reads(wholeNumber({ min: 0, max: 10 }), {
    '0': 0,
    '10': 10,
    '007': 7,
    ...Object.fromEntries(wrong.map((text) => [text, 'wrong' as const])),
  });
});

test('a name is 1 to 200 characters without control and format characters, trimmed', () => {
  const unseen = [...'\n\u001b\u009b\u202e\u2066\u200b\u2028'].map((character) => `a${character}b`);
  const wrong = ['', '   ', '\t', 'x'.repeat(201), ...unseen];
  reads(name, {
    ' Ábaco, Lda ': 'Ábaco, Lda',
    ['x'.repeat(200)]: 'x'.repeat(200),
    ...Object.fromEntries(wrong.map((text) => [text, 'wrong' as const])),
  });
});

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
