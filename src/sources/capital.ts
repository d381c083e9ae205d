import { cleanText } from './text.ts';

/** Far beyond any share capital; what is longer is garbage. */
const MAX_DIGITS = 40;

/** `1 234 567,89`, `1.234.567,89`, `1,234,567.89`, `1'234'567.89`: groups of three, then at most one decimal mark of the other kind. */
const GROUPED = /^(\d{1,3})((?:([ .,'])\d{3})(?:\3\d{3})*)(?:([.,])(\d+))?$/;
const PLAIN = /^(\d+)(?:\.(\d+))?$/;
const DECIMAL_COMMA = /^(\d+),(\d+)$/;
const EURO = /^(?:€|EUR\b)|(?:€|EUR|euros?)$/i;

/**
 * A share capital as a decimal string ('5000.00'), '0' when there is none or when it can't be read for certain: a record
 * without a figure is better than one with a wrong figure. `1.234` could be a thousand and something, so it is '0'; with a second
 * mark (`1.234,00`) or a further group (`1.234.567`) there is one reading only.
 */
export function capitalText(value: unknown): string {
  const text = cleanText(value).replace(EURO, '').trim();
  const plain = PLAIN.exec(text);
  const ambiguous = /^[1-9]\d{0,2}[.,]\d{3}$/.test(text) && typeof value !== 'number';
  if (ambiguous) return '0';
  if (plain) return decimal(plain[1], plain[2]);
  const comma = DECIMAL_COMMA.exec(text);
  if (comma) return decimal(comma[1], comma[2]);
  const [, first, groups = '', mark, point, fraction] = GROUPED.exec(text) ?? [];
  if (first === undefined || mark === point) return '0';
  return decimal(first + groups.replace(/\D/g, ''), fraction);
}

/** The currency's code: what the source says, 'EUR' when it says nothing (specification, "structure"). */
export function currencyText(value: unknown): string {
  const text = cleanText(value);
  if (text === '' || text === '€') return 'EUR';
  return /^[a-z]{3}$/i.test(text) ? text.toUpperCase() : text;
}

function decimal(whole = '', fraction = ''): string {
  const digits = whole.replace(/^0+(?=\d)/, '');
  if (digits.length + fraction.length > MAX_DIGITS) return '0';
  return fraction === '' ? digits : `${digits}.${fraction}`;
}
