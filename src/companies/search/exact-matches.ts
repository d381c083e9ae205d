import { normalizeName } from '../name.ts';
import type { SearchEntry } from './document.ts';
import { SearchError, type SearchOutcome } from './hits.ts';
import { type SearchLines, searchLines } from './msearch.ts';
import type { ParsedQuery } from './query.ts';
import { MAX_RESULTS } from './search.ts';

/** The entries of each name that equal it, or the failure. A missing name has to be asked again, by its own search. */
export type Equals = Map<string, SearchEntry[] | SearchError>;

/** The names among the queries, in groups that share a search for equal names. */
export function groupNames(queries: ParsedQuery[], together: boolean): string[][] {
  const names = [...new Set(queries.flatMap((query) => (query.kind === 'name' ? [query.normalized] : [])))];
  if (names.length === 0) return [];
  return together ? [names] : names.map((name) => [name]);
}

/** The search of one group. */
export function equalsLines(index: string, names: string[]): SearchLines {
  return searchLines(index, { terms: { normalized_name: names } }, MAX_RESULTS * names.length);
}

/**
 * Reads the answers to {@link equalsLines}. The names of a removed index are missing, and so are those of a shared search that could
 * not hold all entries.
 */
export function readEquals(groups: string[][], outcomes: SearchOutcome[]): Equals {
  const equals: Equals = new Map();
  for (const [position, names] of groups.entries()) {
    const outcome = outcomes[position]!;
    if (outcome instanceof SearchError) {
      if (outcome.status !== 404) for (const name of names) equals.set(name, outcome);
      continue;
    }
    for (const [name, entries] of groupByName(names, outcome.entries) ?? []) equals.set(name, entries);
  }
  return equals;
}

/** @returns `null` when entries of some names may not have fitted, or the index has another normalization */
function groupByName(names: string[], entries: SearchEntry[]): Map<string, SearchEntry[]> | null {
  if (names.length === 1) return new Map([[names[0]!, entries]]);
  if (entries.length === MAX_RESULTS * names.length) return null;
  const byName = new Map<string, SearchEntry[]>(names.map((name) => [name, []]));
  for (const entry of entries) {
    const theirs = byName.get(normalizeName(entry.legalName));
    if (theirs === undefined) return null;
    theirs.push(entry);
  }
  return byName;
}
