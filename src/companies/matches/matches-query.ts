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

/** The words of a query that has more than {@link MAX_WORDS}. */
interface CutWords {
  used: number;
  sent: number;
}

/** A query as it is asked. `cut` means that only its first words are. */
export type AskedQuery = MatchQuery & { cut?: CutWords };

/**
 * Reads a query that is not only white space. Of over eight words the first eight are asked. None of them is part of a trailing
 * legal form, because the normalized form has none.
 */
export function parseMatchQuery(q: string): AskedQuery {
  const nif = findNif(q.trim());
  if (nif !== null) return { kind: 'nif', nif };
  const words = normalizeName(q).split(' ');
  const normalized = words.slice(0, MAX_WORDS).join(' ');
  const query = canMatch(normalized) ? wordsQuery(normalized) : { kind: 'nothing' as const };
  return words.length > MAX_WORDS ? { ...query, cut: { used: MAX_WORDS, sent: words.length } } : query;
}

/** @param normalized a query in normalized form, not empty */
function wordsQuery(normalized: string): WordsQuery {
  const words = normalized.split(' ');
  const last = words.pop()!;
  return { kind: 'words', normalized, before: [...new Set(words)], last };
}
