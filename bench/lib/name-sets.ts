/** Names that are no company of a directory, made from the directory: no answer may call them clear. */
import { normalizeName, sortKey } from '../../src/companies/name.ts';
import { editsOf } from '../../src/companies/resolve/edits.ts';
import { isHeavy } from '../../src/companies/resolve/words.ts';
import { seededRandom } from './names.ts';

const WORD = /[\p{L}\p{N}]+/gu;
/** The words that are changed, and those that they become. */
const CHANGED = /^[a-z]{4,}$/;

/**
 * Names in which one word, not the first, became another word of the directory: one letter away, or one that it begins or that begins
 * it. They are at most `most`, come from all parts of the directory, and are the same in each run. A name is left out if only light words
 * tell it from a name of the directory.
 */
export function nearNames(names: readonly string[], kind: 'letter' | 'beginning', most = 1_000): string[] {
  const random = seededRandom(1);
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!;
  const present = new Set(names.map(heavyWords));
  const isMeant = (word: string) => CHANGED.test(word) && isHeavy(word);
  const words = new Set([...present].flatMap((name) => name.split(' ').filter(isMeant)));
  const longer = new Map<string, string[]>();
  for (const word of words) {
    for (let end = 4; end < word.length; end += 1) {
      const beginning = word.slice(0, end);
      if (words.has(beginning)) longer.set(beginning, [...(longer.get(beginning) ?? []), word]);
    }
  }
  const shorter = (word: string) => Array.from({ length: word.length }, (_, end) => word.slice(0, end));
  const others = (word: string) => [
    ...(kind === 'letter' ? editsOf(word) : [...shorter(word), ...(longer.get(word) ?? [])]),
  ];

  const found: string[] = [];
  for (const name of spread(names)) {
    if (found.length === most) break;
    const choices = [...name.matchAll(WORD)].slice(1).flatMap(({ 0: word, index }) => {
      const key = sortKey(word);
      const known = isMeant(key) ? others(key).filter((other) => words.has(other)) : [];
      return known.length === 0 ? [] : [{ word, index, known }];
    });
    if (choices.length === 0) continue;
    const { word, index, known } = pick(choices);
    const near = name.slice(0, index) + pick(known) + name.slice(index + word.length);
    if (!present.has(heavyWords(near))) found.push(near);
  }
  return found;
}

const heavyWords = (name: string) => normalizeName(name).split(' ').filter(isHeavy).join(' ');

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
