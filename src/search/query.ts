import { normalizeName } from '../companies/name.ts';
import { findNif } from '../companies/nif.ts';

/** What a query asks for. */
export type ParsedQuery =
  | { kind: 'nif'; nif: string }
  /** `normalized` is never empty. */
  | { kind: 'name'; normalized: string }
  /** Nothing can match: no letter and no digit is left of it, or more than any name has. */
  | { kind: 'nothing' };

/**
 * No name is longer once normalized: 500 characters at most (contract, Files), each of which becomes at most 18
 * (U+FDFA). A query that is longer would cost the directory work for nothing.
 */
const MAX_NORMALIZED_LENGTH = 500 * 18;

/**
 * Reads a query that is known to be more than white space: nine digits in a run make it a NIF query (contract:
 * NIF or name), anything else is a name (contract: normalized name).
 */
export function parseQuery(q: string): ParsedQuery {
  const nif = findNif(q.trim());
  if (nif !== null) return { kind: 'nif', nif };
  const normalized = normalizeName(q);
  if (normalized === '' || normalized.length > MAX_NORMALIZED_LENGTH) return { kind: 'nothing' };
  return { kind: 'name', normalized };
}
