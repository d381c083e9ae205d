import { normalizeName } from '../companies/name.ts';
import { type ParsedQuery, parseQuery } from '../search/query.ts';

/** The most words of a query (contract: matches). */
export const MAX_WORDS = 8;

/** A query for names that have all of its words, the last one as the beginning of a word. */
export interface WordsQuery {
  kind: 'words';
  /** The whole query (contract: normalized name); never empty. */
  normalized: string;
  /** Its words before the last, each once. */
  before: string[];
  last: string;
}

/** A query by its kind; a NIF and a query that nothing can match are those of the search. */
export type MatchQuery = Exclude<ParsedQuery, { kind: 'name' }> | WordsQuery;

/**
 * Reads a query that is not only white space.
 * @returns `null` for one of over eight words
 */
export function parseMatchQuery(q: string): MatchQuery | null {
  const parsed = parseQuery(q);
  if (parsed.kind === 'nif') return parsed;
  const normalized = parsed.kind === 'name' ? parsed.normalized : normalizeName(q);
  if (normalized.split(' ').length > MAX_WORDS) return null;
  return parsed.kind === 'name' ? wordsQuery(normalized) : parsed;
}

/** @param normalized a query in normalized form, not empty */
export function wordsQuery(normalized: string): WordsQuery {
  const words = normalized.split(' ');
  const last = words.pop()!;
  return { kind: 'words', normalized, before: [...new Set(words)], last };
}
