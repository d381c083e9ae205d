/** Names that are no company of a directory, made from the directory: no answer may call them clear. */
import { LEGAL_FORMS } from '../../src/companies/legal-forms.ts';
import { normalizeName, sortKey } from '../../src/companies/name.ts';
import { editsOf } from '../../src/companies/resolve/edits.ts';
import { isHeavy } from '../../src/companies/resolve/words.ts';
import { seededRandom } from './names.ts';

const WORD = /[\p{L}\p{N}]+/gu;
/** The words that are changed. */
const CHANGED = /^[a-z]{4,}$/;
/** Letters of those that they become; light ones are among them, but no legal form, which says nothing of a company. */
const SHORTEST = 3;

/**
 * How a word is replaced: by a word of the directory that differs in one letter (`letter`), by one of the directory of which one is the
 * beginning of the other (`beginning`), or by a word like that which the directory lacks (`unknown beginning`).
 */
export const NEAR_KINDS = ['letter', 'beginning', 'unknown beginning'] as const;

/**
 * Names in which one word, not the first, became another that is no error of it. They are at most `most`, come from all parts of the
 * directory, and are the same in each run. A name is left out if only light words tell it from a name of the directory.
 */
export function nearNames(
  names: readonly string[],
  kind: (typeof NEAR_KINDS)[number],
  most = 1_000,
): string[] {
  const random = seededRandom(1);
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!;
  const present = new Set(names.map(heavyWords));
  const isMeant = (word: string) => CHANGED.test(word) && isHeavy(word);
  const known = new Set(names.flatMap((name) => normalizeName(name).split(' ')));
  const words = [...known].filter(isMeant);
  const longer = new Map<string, string[]>();
  for (const word of words) {
    for (const beginning of beginningsOf(word)) {
      longer.set(beginning, [...(longer.get(beginning) ?? []), word]);
    }
  }
  const others = (word: string): string[] => {
    if (kind === 'letter') return [...editsOf(word)].filter((other) => known.has(other));
    if (kind === 'beginning')
      return [...beginningsOf(word).filter((other) => known.has(other)), ...(longer.get(word) ?? [])];
    // One letter more or less may be an error.
    const shorter = beginningsOf(word).slice(0, -1);
    return [...shorter, ...words.slice(0, 20).map((other) => word + other.slice(-3))].filter(
      (other) => !known.has(other),
    );
  };

  const found: string[] = [];
  for (const name of spread(names)) {
    if (found.length === most) break;
    const choices = [...name.matchAll(WORD)].slice(1).flatMap(({ 0: word, index }) => {
      const key = sortKey(word);
      const becomes = isMeant(key)
        ? others(key).filter((other) => other.length >= SHORTEST && !LEGAL_FORMS.includes(other))
        : [];
      return becomes.length === 0 ? [] : [{ word, index, becomes }];
    });
    if (choices.length === 0) continue;
    const { word, index, becomes } = pick(choices);
    const near = name.slice(0, index) + pick(becomes) + name.slice(index + word.length);
    if (!present.has(heavyWords(near))) found.push(near);
  }
  return found;
}

const beginningsOf = (word: string) =>
  Array.from({ length: Math.max(0, word.length - SHORTEST) }, (_, more) => word.slice(0, SHORTEST + more));

export const heavyWords = (name: string) => normalizeName(name).split(' ').filter(isHeavy).join(' ');

/** The names in an order that has nothing to do with theirs. */
function spread<T>(list: readonly T[]): T[] {
  let step = Math.floor(list.length * 0.618);
  while (divisor(step, list.length) > 1) step += 1;
  return list.map((_, at) => list[(at * step) % list.length]!);
}

const divisor = (one: number, other: number): number => (other === 0 ? one : divisor(other, one % other));

/** Every second name of a directory, and the names of the others that it lacks, at most `most` and spread over them. */
export function halfOf<T>(rows: readonly T[], nameOf: (row: T) => string, most = 2_400) {
  const kept = rows.filter((_, at) => at % 2 === 0);
  const names = new Set(kept.map((row) => normalizeName(nameOf(row))));
  const others = rows.filter((_, at) => at % 2 === 1).map(nameOf);
  return { kept, absent: spread(others.filter((name) => !names.has(normalizeName(name)))).slice(0, most) };
}
