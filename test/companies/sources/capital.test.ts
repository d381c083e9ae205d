import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { capitalText, currencyText } from '../../../src/companies/sources/capital.ts';

test.each([
  ['5000.00', '5000.00'],
  ['5000', '5000'],
  ['0005000.10', '5000.10'],
  ['0', '0'],
  ['0.500', '0.500'],
  ['12345.678', '12345.678'],
  [' 5000.00 ', '5000.00'],
  ['5000,00', '5000.00'],
  ['5.000,00', '5000.00'],
  ['5,000.00', '5000.00'],
  ['5 000,00', '5000.00'],
  ['5\u00a0000', '5000'],
  ["1'234'567.89", '1234567.89'],
  ['1.234.567', '1234567'],
  ['1.234.567,8', '1234567.8'],
  ['5.000,00 €', '5000.00'],
  ['EUR 5000', '5000'],
  [5000, '5000'],
  [5000.5, '5000.5'],
  [1.234, '1.234'],
  [1e21, '1000000000000000000000'],
  [['5000.00'], '5000.00'],
])('reads %p as %s', (given, expected) => {
  expect(capitalText(given)).toBe(expected);
});

test.each([
  '5.000',
  '5,000',
  '1.234.56',
  '1.234.567.89',
  '1,234,567,8',
  '12.34,567.8',
  '-5000',
  '5000 USD',
  '5e3',
  '0x10',
  'cinco mil',
  '5000.',
  '.5',
  '',
  '9'.repeat(41),
])('gives no figure rather than a doubtful one for %p', (given) => {
  expect(capitalText(given)).toBe('0');
});

test.each([[null], [undefined], [{}], [[]], [true], [-1], [Number.NaN], [Number.POSITIVE_INFINITY], [1e300]])(
  'gives 0 for %p',
  (given) => {
    expect(capitalText(given)).toBe('0');
  },
);

test('is a decimal string for any value', () => {
  fc.assert(
    fc.property(fc.oneof(fc.anything(), fc.stringMatching(/^[0-9., €]{0,12}$/)), (value) => {
      expect(capitalText(value)).toMatch(/^(0|[1-9]\d*)(\.\d+)?$/);
    }),
  );
});

test('reads an amount in Portuguese, English and Swiss writing as the same figure', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 40 }), fc.integer({ min: 0, max: 99 }), (whole, cents) => {
      const expected = `${whole}.${String(cents).padStart(2, '0')}`;
      const grouped = (mark: string) => String(whole).replace(/\B(?=(\d{3})+$)/g, mark);
      const fraction = expected.slice(-2);
      for (const text of [
        expected,
        `${grouped('.')},${fraction}`,
        `${grouped(',')}.${fraction}`,
        `${grouped(' ')},${fraction}`,
        `${grouped("'")}.${fraction}`,
      ]) {
        expect(capitalText(text)).toBe(expected);
      }
    }),
  );
});

test.each([
  [null, 'EUR'],
  ['', 'EUR'],
  ['€', 'EUR'],
  ['usd', 'USD'],
  [{}, 'EUR'],
  ['escudos', 'escudos'],
])('the currency %p is %s', (given, expected) => {
  expect(currencyText(given)).toBe(expected);
});
