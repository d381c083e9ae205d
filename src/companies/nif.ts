/**
 * NIF: the Portuguese tax identification number, nine digits of which the last is a check digit.
 *
 * A path holds a NIF and nothing else (`normalizeNif`); a search query may hold one anywhere (`findNif`). Both accept the
 * same separators.
 */

const NIF = /^[0-9]{9}$/;

/** Between digits: spaces, tabs, no-break spaces, hyphens and periods (docs/api.md: NIF or name). */
const SEPARATORS = /[ \t\u00a0\u202f.-]+/g;

/** Single digits, joined by any number of separators. */
const DIGIT_RUNS = new RegExp(`[0-9](?:(?:${SEPARATORS.source})?[0-9])*`, 'g');

/**
 * The nine digits of a text that holds a NIF and separators only, or `null` (specification, get company; docs/api.md: NIF or
 * name). The text has no `PT` and ASCII digits only. The check digit is not checked.
 */
export function normalizeNif(text: string): string | null {
  if (NIF.test(text)) return text; // the usual form, which is not copied
  const digits = text.replace(SEPARATORS, '');
  return NIF.test(digits) ? digits : null;
}

/**
 * A text without the `PT` that stands before its digits, with or without a blank, as VAT numbers have it. Lists, tools and commands take it; a path does
 * not (docs/api.md: NIF or name).
 */
export const withoutCountry = (text: string) => text.replace(/^\s*PT[ \t\u00a0\u202f]?(?=[0-9])/i, '');

/**
 * The nine digits of a NIF in a file, as {@link normalizeNif}, also of a NIF that is written as a VAT number (`PT599910020`).
 */
export function importedNif(text: string): string | null {
  return normalizeNif(text) ?? normalizeNif(text.replace(/^\s*pt/i, ''));
}

/**
 * Whether nine ASCII digits (no separators) end in the right check digit: 11 minus the weighted sum (weights 9 to
 * 2) modulo 11, and 0 if that gives 10 or 11. A leading 0 is allowed, because the specification doesn't refuse it.
 */
export function isValidNif(nif: string): boolean {
  if (!NIF.test(nif)) return false;
  let sum = 0;
  for (let i = 0; i < 8; i++) sum += Number(nif[i]) * (9 - i);
  const remainder = sum % 11;
  return Number(nif[8]) === (remainder < 2 ? 0 : 11 - remainder);
}

/**
 * The NIF of a search query, or `null` (docs/api.md: NIF or name). It is the first maximal run of single digits, joined by any
 * number of separators, that has exactly nine digits. It takes time in proportion to the query.
 */
export function findNif(query: string): string | null {
  for (const [run] of query.matchAll(DIGIT_RUNS)) {
    const nif = normalizeNif(run);
    if (nif !== null) return nif;
  }
  return null;
}
