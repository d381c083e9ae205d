/**
 * Company names: the one normalization that queries, Postgres and Elasticsearch share, and the order of results
 * (contract: normalized name, order of results).
 *
 * A table saves an import over a second a million names. It serves names of which every character becomes at most one
 * Latin-1 character, 98% of real ones. `fold` fills an entry when its character is first met, so there is one set of rules.
 * This is exact because no rule depends on a neighbour: NFKD only reorders marks, which are removed, and the one such
 * lower-case rule (final sigma) gives no Latin-1 character.
 */
import { LEGAL_FORMS, withoutLegalForms } from './legal-forms.ts';

/** Characters below this have an entry: Latin, combining marks, dashes, typographic quotes, the euro sign. */
const TABLE_SIZE = 0x2100;
/** Longer names take `fold`. Rows have at most 500 characters. */
const SCRATCH_BYTES = 1024;
const scratch = Buffer.alloc(SCRATCH_BYTES);

// Entries above the 256 characters of Latin-1:
/** The character is removed (a combining mark). */
const GONE = 0x100;
/** The character does not become one Latin-1 character, so `fold` takes the whole name. */
const NOT_HERE = 0x101;
const UNKNOWN = 0x102;

/**
 * NFKD, marks removed, lower case (contract: order of results). A lone surrogate becomes U+FFFD,
 * as `cleanName` stores it; otherwise two halves with a mark between them would become one character. Marks are also removed
 * before NFKD, which sorts a run of them in quadratic time: 30,000 marks in a query took a second.
 */
function fold(text: string): string {
  return text
    .toWellFormed()
    .replace(/\p{M}+/gu, '')
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase();
}

const table = new Uint16Array(TABLE_SIZE).fill(UNKNOWN);

function learn(code: number): number {
  const result = fold(String.fromCharCode(code));
  const resultCode = result.charCodeAt(0);
  const entry = result === '' ? GONE : result.length === 1 && resultCode <= 0xff ? resultCode : NOT_HERE;
  table[code] = entry;
  return entry;
}

/**
 * The form in which queries and legal names are compared (contract: normalized name): NFKD, marks removed, lower case, runs
 * of other characters than letters and digits replaced by one space, trimmed, trailing legal forms removed while a word
 * stays in front. `''` means that nothing is left. Idempotent; takes any string, also with lone surrogates.
 */
export function normalizeName(name: string): string {
  const words = sortKey(name).replace(/[^\p{L}\p{N}]+/gu, ' ');
  return withoutLegalForms(words.trim());
}

/**
 * The key that results are ordered by, compared by code point (contract: order of results): NFKD, marks removed, lower
 * case. Punctuation, spaces and legal forms stay. It can be up to 18 times as long as the name (NFKD of U+FDFA).
 */
export function sortKey(name: string): string {
  if (name.length > SCRATCH_BYTES) return fold(name);
  let length = 0;
  for (let i = 0; i < name.length; i++) {
    const code = name.charCodeAt(i);
    if (code >= TABLE_SIZE) return fold(name);
    let entry = table[code]!;
    if (entry === UNKNOWN) entry = learn(code);
    if (entry <= 0xff) scratch[length++] = entry;
    else if (entry !== GONE) return fold(name);
  }
  return scratch.toString('latin1', 0, length);
}

/**
 * Compares by Unicode code point, as Postgres (`COLLATE "C"`) and Elasticsearch (keyword) sort UTF-8. Returns a negative
 * number, 0 or a positive one. `<` on strings differs: it puts U+1F600 (a surrogate pair) before U+FF21.
 */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    let codeA = a.charCodeAt(i);
    let codeB = b.charCodeAt(i);
    if (codeA === codeB) continue;
    // Code units and code points disagree for surrogates only, which sort above U+E000-FFFF.
    if (codeA >= 0xd800 && codeB >= 0xd800) {
      codeA = codeA >= 0xe000 ? codeA - 0x800 : codeA + 0x2000;
      codeB = codeB >= 0xe000 ? codeB - 0x800 : codeB + 0x2000;
    }
    return codeA - codeB;
  }
  return a.length - b.length;
}

/**
 * A raw name made storable (contract, Files): control characters (C0, DEL, C1, and the line and paragraph
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
  const hash = new Bun.CryptoHasher('sha256').update(JSON.stringify([results, LEGAL_FORMS])).digest('hex');
  return hash.slice(0, 16);
}
