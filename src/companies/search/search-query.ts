import { normalizeName } from '../name.ts';
import { findNif } from '../nif.ts';

export type ParsedQuery =
  | { kind: 'nif'; nif: string }
  /** `normalized` is never empty. */
  | { kind: 'name'; normalized: string }
  /** Nothing can match, because the query has no letter or digit, or is longer than any name. */
  | { kind: 'nothing' };

/**
 * The longest normalized name: 500 characters (docs/imports.md: files), each of which becomes at most 18 (U+FDFA). A longer query can't
 * match, so the directory is not asked.
 */
const MAX_NORMALIZED_LENGTH = 500 * 18;

/**
 * Reads a query that is not only white space. Nine digits in a run make it a NIF query (docs/api.md: NIF or name); otherwise it is
 * a name (docs/api.md: normalized name).
 */
export function parseQuery(q: string): ParsedQuery {
  const nif = findNif(q.trim());
  if (nif !== null) return { kind: 'nif', nif };
  const normalized = normalizeName(q);
  return canMatch(normalized) ? { kind: 'name', normalized } : { kind: 'nothing' };
}

/** Whether a name can match this query in normalized form. */
export const canMatch = (normalized: string) =>
  normalized !== '' && normalized.length <= MAX_NORMALIZED_LENGTH;
