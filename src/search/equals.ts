import { normalizeName } from '../companies/name.ts';
import { failureOf, type ItemResponse, readHits, searchLines } from './msearch.ts';
import type { ParsedQuery } from './query.ts';
import { MAX_RESULTS, type SearchEntry } from './search.ts';

/** The entries whose names are equal to those of a batch. */
export interface Equals {
  /** Of each name, or why they could not be found. A name that is missing has to be asked again. */
  byName: Map<string, SearchEntry[] | Error>;
  /** The search that names shared was not enough for all of them: each needs a search. */
  isCrowded: boolean;
}

/** The names among the queries, in groups that share a search for what is equal to any of them. */
export function groupNames(queries: ParsedQuery[], together: boolean): string[][] {
  const names = [...new Set(queries.flatMap((query) => (query.kind === 'name' ? [query.normalized] : [])))];
  if (names.length === 0) return [];
  return together ? [names] : names.map((name) => [name]);
}

/** The search of one group. */
export function equalsLines(index: string, names: string[]): string[] {
  const [name] = names;
  const filter =
    names.length === 1 ? { term: { normalized_name: name } } : { terms: { normalized_name: names } };
  return searchLines(index, filter, MAX_RESULTS * names.length);
}

/** Reads the answers to {@link equalsLines}. An index that is gone leaves its names out. */
export function readEquals(groups: string[][], responses: ItemResponse[]): Equals {
  const equals: Equals = { byName: new Map(), isCrowded: false };
  for (const [position, names] of groups.entries()) {
    const response = responses[position]!;
    if (response.status === 404) continue;
    const failed = failureOf(response);
    const dealt = failed === null ? dealOut(names, readHits(response).entries) : null;
    if (failed === null && dealt === null) equals.isCrowded = true;
    else for (const name of names) equals.byName.set(name, failed ?? dealt!.get(name) ?? []);
  }
  return equals;
}

/** @returns null where others' entries may have left no room for some, or the index was made by other rules */
function dealOut(names: string[], entries: SearchEntry[]): Map<string, SearchEntry[]> | null {
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
