import { normalizeName } from '../name.ts';
import { findNif } from '../nif.ts';
import { canMatch, type ParsedQuery } from '../search/search-query.ts';

/** The words of a query that are asked (docs/api.md: by any words). */
export const MAX_WORDS = 8;

/** A query for names that have all of its words, the last one as the beginning of a word. */
export interface WordsQuery {
  kind: 'words';
  /** The whole query (docs/api.md: normalized name); never empty. */
  normalized: string;
  /** Its words before the last, each once. */
  before: string[];
  last: string;
}

/** A query by its kind; a NIF and a query that nothing can match are those of the search. */
export type MatchQuery = Exclude<ParsedQuery, { kind: 'name' }> | WordsQuery;

/**
 * Reads a query that is not only white space. Of over eight words the first eight are asked. None of them is part of a trailing
 * legal form, because the normalized form has none.
 * @returns `sent` is the number of words if not all of them are asked
 */
export function parseMatchQuery(q: string): MatchQuery & { sent?: number } {
  const nif = findNif(q.trim());
  if (nif !== null) return { kind: 'nif', nif };
  const words = normalizeName(q).split(' ');
  const asked = words.slice(0, MAX_WORDS);
  const normalized = asked.join(' ');
  const [last, before] = [asked.pop()!, [...new Set(asked)]];
  const query = canMatch(normalized)
    ? { kind: 'words' as const, normalized, before, last }
    : { kind: 'nothing' as const };
  return words.length > MAX_WORDS ? { ...query, sent: words.length } : query;
}
