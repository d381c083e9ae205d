import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { findNif, importedNif, isValidNif, normalizeNif } from '../../src/companies/nif.ts';

const SEPARATORS = [' ', '\t', '\u00a0', '\u202f', '-', '.'];

describe('normalizeNif', () => {
  test('agrees with removing separators first, for any text of digits, separators and others', () => {
    const others = [...'xP/_\n+,\u2010\u0000５٥e'];
    const character = fc.oneof(
      { weight: 20, arbitrary: fc.constantFrom(...'0123456789', ...SEPARATORS) },
      { weight: 1, arbitrary: fc.constantFrom(...others) },
    );
    for (const one of others) expect(normalizeNif(`5094420${one}13`)).toBeNull();
    for (const one of SEPARATORS) expect(normalizeNif(`${one}5094420${one}${one}13`)).toBe('509442013');
    fc.assert(
      fc.property(fc.string({ unit: character, maxLength: 20 }), (text) => {
        const rest = [...text].filter((c) => !SEPARATORS.includes(c)).join('');
        expect(normalizeNif(text)).toBe(/^[0-9]{9}$/.test(rest) ? rest : null);
      }),
      { numRuns: 2_000 },
    );
  });
});

test('importedNif takes a NIF with or without the prefix of a VAT number', () => {
  for (const text of ['509442013', 'PT509442013', 'pt509442013', ' PT 509 442 013', 'Pt.509-442-013']) {
    expect(importedNif(text)).toBe('509442013');
  }
  for (const text of ['PT', 'PT50944201', 'PTPT509442013', 'ES509442013', '509442013PT', 'P T509442013']) {
    expect(importedNif(text)).toBeNull();
  }
});

describe('isValidNif', () => {
  test('accepts real companies and a leading zero', () => {
    for (const nif of ['509442013', '500002576', '980609089', '600008878', '000000000', '012345679']) {
      expect([nif, isValidNif(nif)]).toEqual([nif, true]);
    }
  });

  test('exactly one check digit is right for every first eight digits', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 99_999_999 }), (first) => {
        const eight = String(first).padStart(8, '0');
        const valid = [...'0123456789'].filter((check) => isValidNif(eight + check));
        expect(valid).toHaveLength(1);
        // The weighted sum of all nine digits is a multiple of 11, or the check digit stands in for a 10.
        const sum = [...eight].reduce((total, digit, i) => total + Number(digit) * (9 - i), 0);
        const whole = (sum + Number(valid[0])) % 11;
        expect(whole === 0 || (valid[0] === '0' && sum % 11 === 1)).toBe(true);
      }),
    );
  });

  test('refuses what is not nine ASCII digits', () => {
    const others = [
      '',
      '50944201',
      '5094420130',
      '50944201x',
      '509 42013',
      '５０９４４２０１３',
      '-09442013',
    ];
    expect(others.filter(isValidNif)).toEqual([]);
  });
});

describe('findNif', () => {
  test('reads a NIF in a query, among words or alone', () => {
    const found: [string, string | null][] = [
      ['empresa 509-442-013, Lisboa', '509442013'],
      ['\u202bPT509442013\u202c, 5', '509442013'],
      ['509442013 500002576', null],
      ['509442013/500002576', '509442013'],
      ['12345678/509442013', '509442013'],
      ['1234567890/509442013', '509442013'],
      ['50944201', null],
      ['5094420130', null],
      ['509442013 0', null],
      ['123456789', '123456789'],
      ['5０9442013', null],
      ['٥٠٩٤٤٢٠١٣', null],
      ['', null],
    ];
    for (const [query, nif] of found) expect([query, findNif(query)]).toEqual([query, nif]);
  });

  test('agrees with the rule written as an expression', () => {
    const character = fc.constantFrom(...'0123456789123', ...SEPARATORS, ...SEPARATORS, ...'x/\n');
    fc.assert(
      fc.property(fc.string({ unit: character, maxLength: 60 }), (query) => {
        const runs = query.match(/[0-9](?:[ \t\u00a0\u202f.-]*[0-9])*/g) ?? [];
        const nine = runs.map((run) => run.replace(/[^0-9]/g, '')).find((digits) => digits.length === 9);
        expect(findNif(query)).toBe(nine ?? null);
      }),
      { numRuns: 5_000 },
    );
  });

  test('takes time in proportion to a hostile query', () => {
    const hostile = [
      '1'.repeat(10_000),
      '1 '.repeat(5_000),
      `1${' '.repeat(9_998)}x`,
      '12345678x'.repeat(1_111),
    ];
    // 2 MB in all: a quadratic scan would time out.
    for (let i = 0; i < 50; i++) for (const query of hostile) expect(findNif(query)).toBeNull();
  });
});
