import type { SearchEntry } from '../../src/companies/search/document.ts';
import type { DirectorySearch } from '../../src/companies/search/search.ts';
import type { ParsedQuery } from '../../src/companies/search/search-query.ts';
import { oracleNormalize, oracleSortKey } from '../companies/name-oracle.ts';

/**
 * The search as the specification and docs/api.md (NIF or name, normalized name, order of results) put it, and nothing
 * else: slow and plain.
 */
export interface OracleSearch extends DirectorySearch {
  /** The right answer to `q`, as a caller types it. */
  answer(q: string): SearchEntry[];
}

export function createOracleSearch(entries: readonly SearchEntry[]): OracleSearch {
  const rows = entries.map((entry) => ({
    entry,
    normalized: oracleNormalize(entry.legalName),
    sortKey: Buffer.from(oracleSortKey(entry.legalName)),
  }));
  // UTF-8 bytes are in the order of code points.
  rows.sort((a, b) => Buffer.compare(a.sortKey, b.sortKey) || Number(a.entry.nif) - Number(b.entry.nif));

  const byNif = (nif: string) => rows.filter(({ entry }) => entry.nif === nif);
  const byName = (normalized: string) => {
    if (normalized === '') return [];
    const exact = rows.filter((row) => row.normalized === normalized);
    const others = rows.filter(
      (row) => row.normalized !== normalized && row.normalized.startsWith(normalized),
    );
    return [...exact, ...others];
  };
  const first20 = (found: typeof rows) => found.slice(0, 20).map(({ entry }) => entry);

  return {
    answer(q) {
      const nif = oracleNif(q.trim());
      return first20(nif === null ? byName(oracleNormalize(q)) : byNif(nif));
    },
    async find(query: ParsedQuery) {
      if (query.kind === 'nothing') return { entries: [], generation: null };
      const entries = first20(query.kind === 'nif' ? byNif(query.nif) : byName(query.normalized));
      return { entries, generation: null };
    },
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
