/**
 * Company names: the one normalization that queries, Postgres and Elasticsearch share (docs/api.md: normalized name, order of results).
 */
import { hash } from 'node:crypto';
import { LEGAL_FORMS, withoutLegalForms } from './legal-forms.ts';

/**
 * The form in which queries and legal names are compared (docs/api.md: normalized name): NFKD, marks removed, lower case, runs
 * of other characters than letters and digits replaced by one space, trimmed, trailing legal forms removed while a word
 * stays in front. `''` means that nothing is left. Idempotent; takes any string, also with lone surrogates.
 */
export function normalizeName(name: string): string {
  const words = sortKey(name).replace(/[^\p{L}\p{N}]+/gu, ' ');
  return withoutLegalForms(words.trim());
}

/**
 * The key that results are ordered by, compared by code point (docs/api.md: order of results): NFKD, marks removed, lower
 * case. Punctuation, spaces and legal forms stay. Idempotent. It can be up to 18 times as long as the name (NFKD of U+FDFA).
 *
 * A lone surrogate becomes U+FFFD, as `cleanName` stores it; otherwise two halves with a mark between them would become one
 * character. Marks are also removed before NFKD, which sorts a run of them in quadratic time: 30,000 marks in a query took a
 * second.
 */
export function sortKey(name: string): string {
  // Most queries are ASCII, and every key of a Portuguese name. The other way takes 10 times as long (1 µs).
  if (/^[\0-\x7f]*$/.test(name)) return name.toLowerCase();
  return name
    .toWellFormed()
    .replace(/\p{M}+/gu, '')
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase();
}

/**
 * A raw name made storable (docs/imports.md: files): control characters (C0, DEL, C1, and the line and paragraph
 * separators) become spaces, lone surrogates U+FFFD, and white space around it goes. Runs of spaces inside stay.
 */
export function cleanName(raw: string): string {
  return raw
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, ' ')
    .toWellFormed()
    .trim();
}

/** Names whose results change with a rule, the legal forms or the Unicode tables. */
const PROBE_NAMES: readonly string[] = [
  'Ábaco & Irmãos – Construções, Ldª',
  'ÀÉÎÕÜÇ ŁØĐ ß ẞ Æ Œ',
  'Sociedade Unipessoal, Lda.',
  'A. B. C., S. A.',
  'ﬁﬂ ① ½ ² ª º ™ Å',
  'ΟΔΟΣ Σ.Α. İstanbul ЁЖ',
  '\u{1d400}\u{10400}\u{1e900}\u{118a0}\u{16e40}',
  'ꟲ ꟳ ꟴ Ꟶ ꭩ \u{10780}\u{107b0}\u{1df95}',
  '株式会社 한국 ﷺ \u0897\u1acf\u{10efa}\u{11f42}',
  '\u1c89\ua7cb\ua7da\ua7dc\u{10d50}',
];

/**
 * 16 hexadecimal digits that change when `normalizeName` or `sortKey` does: a hash of the legal forms and of both results
 * for fixed names that touch every rule and recent Unicode additions. An index stores it, and is rebuilt when it differs.
 */
export function normalizationFingerprint(): string {
  const results = PROBE_NAMES.map((name) => [normalizeName(name), sortKey(name)]);
  return hash('sha256', JSON.stringify([results, LEGAL_FORMS])).slice(0, 16);
}
