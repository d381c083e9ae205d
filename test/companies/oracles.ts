/**
 * The rules for names, searches and matches written a second time, as slowly and plainly as they read (docs/api.md: NIF or name,
 * normalized name, order of results, by any words), to check the fast ones against. Shares nothing with them.
 */
import type { SearchEntry } from '../../src/companies/search/document.ts';

const FORMS = new Set(
  (
    'lda|l da|ld a|l d a|limitada|ld|sa|s a|sociedade anonima|unipessoal|unip|sociedade unipessoal|sgps|s g p s|' +
    'sad|s a d|crl|c r l|epe|e p e|eirl|e i r l|ace|a c e|em|e m|eem|e e m|eim|e i m'
  ).split('|'),
);

/** NFKD, marks removed, lower case; a lone surrogate is U+FFFD. */
export function oracleSortKey(name: string): string {
  return name.toWellFormed().normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
}

/** The sort key's letters and digits in words, without the trailing legal forms. */
export function oracleNormalize(name: string): string {
  const words = oracleSortKey(name).match(/[\p{L}\p{N}]+/gu) ?? [];
  for (;;) {
    // At most four words make a form, and at least one word stays.
    const longest = [4, 3, 2, 1].find(
      (count) => count < words.length && FORMS.has(words.slice(-count).join(' ')),
    );
    if (longest === undefined) return words.join(' ');
    words.splice(-longest);
  }
}

interface Row {
  entry: SearchEntry;
  normalized: string;
  words: Set<string>;
}

/** Entries in the order of results. */
export function rowsOf(entries: readonly SearchEntry[]): Row[] {
  const rows = entries.map((entry) => {
    const normalized = oracleNormalize(entry.legalName);
    const sortKey = Buffer.from(oracleSortKey(entry.legalName));
    return { entry, normalized, words: new Set(normalized.split(' ')), sortKey };
  });
  // UTF-8 bytes are in the order of code points.
  return rows.sort(
    (a, b) => Buffer.compare(a.sortKey, b.sortKey) || Number(a.entry.nif) - Number(b.entry.nif),
  );
}

const firstOf = (...found: Row[][]) => [...new Set(found.flat())].slice(0, 20).map(({ entry }) => entry);

/** The search, and nothing else. @returns what `q`, as a caller types it, must answer */
export function createSearchOracle(entries: readonly SearchEntry[]) {
  const rows = rowsOf(entries);
  return (q: string): SearchEntry[] => {
    const nif = oracleNif(q.trim());
    if (nif !== null) return entries.filter((entry) => entry.nif === nif);
    const normalized = oracleNormalize(q);
    if (normalized === '') return [];
    const exact = rows.filter((row) => row.normalized === normalized);
    return firstOf(
      exact,
      rows.filter((row) => row.normalized.startsWith(normalized)),
    );
  };
}

/** Matches, and nothing else. @returns what `q`, as a caller types it, must answer */
export function createMatchOracle(entries: readonly SearchEntry[]) {
  const rows = rowsOf(entries);
  return (q: string): SearchEntry[] => {
    const normalized = oracleNormalize(q);
    if (normalized === '') return [];
    const words = normalized.split(' ');
    const last = words.at(-1)!;
    const begins = rows.filter((row) => row.normalized.startsWith(normalized));
    const whole = rows.filter((row) => words.every((word) => row.words.has(word)));
    const all = rows.filter(
      (row) =>
        words.slice(0, -1).every((word) => row.words.has(word)) &&
        [...row.words].some((word) => word.startsWith(last)),
    );
    return firstOf(begins, whole, all);
  };
}

/** The first maximal run of single digits and separators between them that has nine digits (docs/api.md: NIF or name). */
function oracleNif(query: string): string | null {
  for (const [run] of query.matchAll(/[0-9](?:[ \t\u00a0\u202f.-]*[0-9])*/g)) {
    const digits = run.replace(/[^0-9]/g, '');
    if (digits.length === 9) return digits;
  }
  return null;
}
