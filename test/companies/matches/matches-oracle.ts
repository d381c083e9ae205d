import type { SearchEntry } from '../../../src/companies/search/document.ts';
import { oracleNormalize, oracleSortKey } from '../name-oracle.ts';

/** Matches as docs/api.md puts them, and nothing else: slow and plain. @returns what `q`, as a caller types it, must answer */
export function createMatchOracle(entries: readonly SearchEntry[]) {
  const rows = entries.map((entry) => {
    const normalized = oracleNormalize(entry.legalName);
    const sortKey = Buffer.from(oracleSortKey(entry.legalName));
    return { entry, normalized, words: new Set(normalized.split(' ')), sortKey };
  });
  rows.sort((a, b) => Buffer.compare(a.sortKey, b.sortKey) || Number(a.entry.nif) - Number(b.entry.nif));

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
    return [...new Set([...begins, ...whole, ...all])].slice(0, 20).map(({ entry }) => entry);
  };
}
