import { findNif } from '../nif.ts';
import { companyOf, type Resolution, resolveNames } from '../resolve/resolve.ts';
import type { DirectoryReader } from '../resolve/resolve-reader.ts';
import type { DirectoryEntry } from '../search/document.ts';

/** Resolves a name by rows in memory. @param rows in the order of results */
export async function resolveAmong(rows: DirectoryEntry[], name: string): Promise<Resolution> {
  const nif = findNif(name);
  const company = rows.find((row) => row.nif === nif);
  if (nif !== null) return companyOf(company);
  const [resolution] = await resolveNames(createMemoryReader(rows), [name]);
  return resolution!;
}

function createMemoryReader(rows: DirectoryEntry[]): DirectoryReader {
  const names = rows.map((row) => ({ row, words: new Set(row.normalized.split(' ')) }));
  const entries = new Map<string, number>();
  for (const { words } of names) for (const word of words) entries.set(word, (entries.get(word) ?? 0) + 1);
  const vocabulary = [...entries].map(([word, count]) => ({ word, entries: count }));
  vocabulary.sort((one, other) => (one.word < other.word ? -1 : 1));
  return {
    rows: rows.length,
    async count(words) {
      return new Map(words.flatMap((word) => (entries.has(word) ? [[word, entries.get(word)!]] : [])));
    },
    async wordsFrom(beginnings, limit) {
      return beginnings.flatMap((beginning) =>
        vocabulary
          .filter(({ word }) => word.startsWith(beginning))
          .slice(0, limit)
          .map((one) => ({ beginning, ...one })),
      );
    },
    async find(reads) {
      return reads.map(({ groups, limit }) =>
        names
          .filter(({ words }) =>
            groups.every((keys) => keys.some((key) => key.every((word) => words.has(word)))),
          )
          .slice(0, limit)
          .map(({ row }) => row),
      );
    },
  };
}
