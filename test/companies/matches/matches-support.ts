import { parseMatchQuery, type WordsQuery } from '../../../src/companies/matches/matches-query.ts';
import type { SearchEntry } from '../../../src/companies/search/document.ts';
import type { Finder } from '../../../src/companies/search/search.ts';

/** The matches for `q`, as a caller types it. */
export async function matchEntries(matches: Finder<WordsQuery>, q: string): Promise<SearchEntry[]> {
  const query = parseMatchQuery(q);
  if (query.kind === 'nothing') return [];
  if (query.kind !== 'words') throw new Error('no query for words');
  const { entries } = await matches.find(query);
  return entries.map(({ nif, legalName }) => ({ nif, legalName }));
}

/** Whether matches have an answer of their own for `q`: it is no NIF, and has at most eight words. */
export function isForWords(q: string): boolean {
  const { kind, sent } = parseMatchQuery(q);
  return kind !== 'nif' && sent === undefined;
}
