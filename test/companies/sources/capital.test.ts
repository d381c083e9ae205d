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
  ['1.234.567,8', '1234567.8'],
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
  '5,000.00',
  '1.234.56',
  '1234.567,8',
  '1,2,3',
  '-5000',
  '5000 USD',
  '5e3',
  '0x10',
  'cinco mil',
  '5000.',
  '.5',
  '',
  '9'.repeat(41),
  null,
  undefined,
  {},
  [[]],
  true,
  -1,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  1e300,
])('gives no figure rather than a doubtful one for %p', (given) => {
  expect(capitalText(given)).toBe('0');
});

test('is a decimal string for any value', () => {
  fc.assert(
    fc.property(fc.oneof(fc.anything(), fc.stringMatching(/^[0-9., €]{0,12}$/)), (value) => {
      expect(capitalText(value)).toMatch(/^(0|[1-9]\d*)(\.\d+)?$/);
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
