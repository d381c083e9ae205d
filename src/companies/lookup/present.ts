import { writeDebts } from '../debts/bracket.ts';
import type { StoredCompany } from './store.ts';

/**
 * The company record of the specification, as JSON. The stored details are copied without parsing, because nothing in them
 * changes between two refreshes.
 */
export function writeCompany({ nif, details, debts }: StoredCompany): string {
  const members = details.slice(1, -1);
  return `{"nif":${Number(nif)},${members},${writeDebts(debts)}}`;
}
