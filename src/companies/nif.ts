/**
 * NIF: the Portuguese tax identification number, nine digits of which the last is a check digit.
 *
 * A path holds a NIF and nothing else (`normalizeNif`); a search query may hold one anywhere (`findNif`). Both accept the
 * same separators.
 */

const NIF_DIGITS = 9;
/** The usual form, which is not copied. */
const NINE_DIGITS = /^[0-9]{9}$/;

/** Separators between digits: spaces, tabs, no-break spaces, hyphens and periods (contract: NIF or name). */
function isSeparator(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0xa0 || code === 0x202f || code === 0x2d || code === 0x2e;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/**
 * The nine digits of a text that holds a NIF and separators only, or `null` (specification, get company; contract: NIF or
 * name). The text has no `PT` and ASCII digits only. The check digit is not checked.
 */
export function normalizeNif(text: string): string | null {
  if (NINE_DIGITS.test(text)) return text;
  let digits = '';
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (isDigit(code)) {
      if (digits.length === NIF_DIGITS) return null;
      digits += text[i];
    } else if (!isSeparator(code)) {
      return null;
    }
  }
  return digits.length === NIF_DIGITS ? digits : null;
}

/**
 * Whether nine ASCII digits (no separators) end in the right check digit: 11 minus the weighted sum (weights 9 to
 * 2) modulo 11, and 0 if that gives 10 or 11. A leading 0 is allowed, because the specification doesn't refuse it.
 */
export function isValidNif(nif: string): boolean {
  if (nif.length !== NIF_DIGITS) return false;
  let sum = 0;
  for (let i = 0; i < NIF_DIGITS; i++) {
    const code = nif.charCodeAt(i);
    if (!isDigit(code)) return false;
    if (i < NIF_DIGITS - 1) sum += (code - 0x30) * (NIF_DIGITS - i);
  }
  const remainder = sum % 11;
  const checkDigit = remainder < 2 ? 0 : 11 - remainder;
  return nif.charCodeAt(NIF_DIGITS - 1) - 0x30 === checkDigit;
}

/**
 * The NIF of a search query, or `null` (contract: NIF or name). It is the first maximal run of single digits, joined by any
 * number of separators, that has exactly nine digits. One pass over the query, so that a hostile query costs no more than
 * its length.
 */
export function findNif(query: string): string | null {
  let digits = '';
  let digitsInRun = 0;
  for (let i = 0; i < query.length; i++) {
    const code = query.charCodeAt(i);
    if (isDigit(code)) {
      digitsInRun++;
      if (digitsInRun <= NIF_DIGITS) digits += query[i];
    } else if (digitsInRun > 0 && !isSeparator(code)) {
      if (digitsInRun === NIF_DIGITS) return digits;
      digits = '';
      digitsInRun = 0;
    }
  }
  return digitsInRun === NIF_DIGITS ? digits : null;
}
