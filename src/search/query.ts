import { normalizeName } from '../companies/name.ts';
import { findNif } from '../companies/nif.ts';

/** What a query asks for. */
export type ParsedQuery =
  | { kind: 'nif'; nif: string }
  /** `normalized` is never empty. */
  | { kind: 'name'; normalized: string }
  /** Nothing can match: no letter and no digit is left of it. */
  | { kind: 'nothing' };

/**
 * Reads a query that is known to be more than white space: nine digits in a run make it a NIF query (contract,
 * choice 4), anything else is a name (choice 5).
 */
export function parseQuery(q: string): ParsedQuery {
  const nif = findNif(q.trim());
  if (nif !== null) return { kind: 'nif', nif };
  const normalized = normalizeName(q);
  return normalized === '' ? { kind: 'nothing' } : { kind: 'name', normalized };
}
