import { cleanText } from './clean-text.ts';

/** More than any share capital has. */
const MAX_CHARACTERS = 40;

const DECIMAL = /^0*(\d+(?:\.\d+)?)$/;
/** `1.234.567,89` and `5000,00`. */
const WITH_COMMA = /^(?:\d+|\d{1,3}(?:\.\d{3})+),\d+$/;

/**
 * A share capital as a decimal string ('5000.00'), as nif.pt writes it, or with a decimal comma; '0' if there is none. No figure is
 * better than a wrong one: any other writing is '0', and so is the text `1.234`, which could be a thousand.
 */
export function capitalText(value: unknown): string {
  const text = cleanText(value);
  const isAmbiguous = /^[1-9]\d{0,2}\.\d{3}$/.test(text) && typeof value !== 'number';
  const plain = WITH_COMMA.test(text) ? text.replaceAll('.', '').replace(',', '.') : text;
  const [, decimal = '0'] = DECIMAL.exec(plain) ?? [];
  return isAmbiguous || decimal.length > MAX_CHARACTERS ? '0' : decimal;
}

/** The source's currency code, by default 'EUR' (specification, structure). */
export function currencyText(value: unknown): string {
  const text = cleanText(value);
  if (text === '' || text === '€') return 'EUR';
  return /^[a-z]{3}$/i.test(text) ? text.toUpperCase() : text;
}
