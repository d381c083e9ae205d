/**
 * Companies by names as people write them (docs/resolutions.md: the rule of resolutions). `words.ts` reads a name, `vocabulary.ts` what the directory
 * knows of its words, `reads.ts` chooses the entries to read, `evidence.ts` compares, `order.ts` ranks. `resolve-reader.ts` reads the
 * entries from either store, and the vocabulary from Postgres.
 */
import { setImmediate } from 'node:timers/promises';
import type { SearchEntry } from '../search/document.ts';
import { type Outcome, rank } from './order.ts';
import { readsOf } from './reads.ts';
import type { DirectoryReader } from './resolve-reader.ts';
import { readVocabulary } from './vocabulary.ts';
import { isHeavy, readWords, type WeighedName } from './words.ts';

/** The outcome of a name. */
export interface Resolution extends Outcome {
  name: WeighedName;
}

/**
 * Resolves a name that is not only white space.
 * @throws as a search of the directory does
 */
export type Resolve = (name: string) => Promise<Resolution>;

/** Names that are resolved together: each statement is for all of them. */
export const NAMES_AT_ONCE = 4;

/**
 * Resolves some names by one directory. The outcome for a name doesn't depend on the others. The event loop is given back after each
 * name.
 */
export async function resolveNames(reader: DirectoryReader, names: string[]): Promise<Resolution[]> {
  const known = await readVocabulary(reader, names.map(readWords));
  const reads = known.map(readsOf);
  const found = await reader.find(reads.flat());
  const resolutions: Resolution[] = [];
  for (const [at, name] of known.entries()) {
    const entries = found.splice(0, reads[at]!.length).flat();
    const byNif = new Map(entries.map((entry) => [entry.nif, entry]));
    resolutions.push({ name, ...rank(name, [...byNif.values()]) });
    await setImmediate();
  }
  return resolutions;
}

/** The outcome of a text with a NIF. @param entry the one of the NIF; `undefined` means that the directory has none */
export function companyOf(entry: SearchEntry | undefined): Resolution {
  const candidates =
    entry === undefined ? [] : [{ ...entry, missing: 0, changed: 0, extra: 0, evidence: [] }];
  return {
    name: { written: '', normalized: '', words: [], weights: [], body: null, isKnown: () => false },
    clear: entry !== undefined,
    candidates,
  };
}

/** The heavy words of a name with their weights, in the order of the evidence. */
export function heavyWords({ words, weights }: WeighedName): { word: string; weight: number }[] {
  return words.flatMap((word, at) => (isHeavy(word) ? [{ word, weight: weights[at]! }] : []));
}
