import { cleanText } from './clean-text.ts';

/** More digits than any share capital has. */
const MAX_DIGITS = 40;

/** `1 234 567,89`, `1.234.567,89`, `1,234,567.89`, `1'234'567.89`: groups of three, then at most one decimal mark of the other kind. */
const GROUPED = /^(\d{1,3})((?:([ .,'])\d{3})(?:\3\d{3})*)(?:([.,])(\d+))?$/;
const PLAIN = /^(\d+)(?:\.(\d+))?$/;
const DECIMAL_COMMA = /^(\d+),(\d+)$/;
const EURO = /^(?:€|EUR\b)|(?:€|EUR|euros?)$/i;

/**
 * A share capital as a decimal string ('5000.00'); '0' if there is none or its reading is ambiguous, because no figure is
 * better than a wrong one. `1.234` could be a decimal or a thousand, so it is '0'. A second mark (`1.234,00`) or a further
 * group (`1.234.567`) leaves one reading.
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

/** The source's currency code, by default 'EUR' (specification, structure). */
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
