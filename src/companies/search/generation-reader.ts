import type { CurrentGeneration } from './current.ts';
import type { DirectoryEntry, SearchEntry } from './document.ts';

/** Of a question for words: keys of which a name has one, and each key's words, of which it has all. Words are of letters and digits only. */
export type WordGroup = readonly (readonly string[])[];

/**
 * The queries on one generation. Elasticsearch and Postgres each implement them; the rest of a search is shared. Answers are in the
 * order of sort key and NIF, the first `MAX_RESULTS` (search.ts) unless a limit is given.
 */
export interface GenerationReader {
  byNif(nif: string): Promise<SearchEntry[]>;
  /** The names that begin with a text in normalized form. @param equalFirst whether those that equal it come first */
  byPrefix(prefix: string, equalFirst: boolean): Promise<SearchEntry[]>;
  /** The names that have a key of every group, and a word with this beginning. @param beginning `null` if there is none */
  byWords(groups: readonly WordGroup[], beginning: string | null, limit: number): Promise<DirectoryEntry[]>;
}

/** Opens a generation in a store. Each question has its time, and fails when the generation was removed. */
export type OpenGeneration = (generation: Omit<CurrentGeneration, 'id'>) => GenerationReader;
