/**
 * Names that are made like real ones. Each takes a name of the example directory (or of another file) as its pattern. The
 * pattern's frequent words mostly stay, so that a word is as frequent as in the real names. Its rare words become other rare
 * words, or invented ones, so that a large directory has as many distinct words for its size as a real one.
 */
import { join } from 'node:path';
import { sortKey } from '../../src/companies/name.ts';
import { type GeneratedCompany, nifOf, seededRandom } from './names.ts';

/** A word with as many names is frequent. */
const FREQUENT_FROM = 3;
/** The shares of a pattern's words that are replaced: frequent ones by any word, rare ones by an invented one. */
const REPLACED_FREQUENT = 0.25;
const INVENTED = 0.5;
const LONGEST_INVENTED = 12;
const WORD = /[\p{L}\p{N}]+/gu;

/** A generator of companies by their number, from real names. */
export function createRealNames(names: readonly string[], seed = 1): (index: number) => GeneratedCompany {
  const words = names.flatMap((name) => name.match(WORD) ?? []);
  const counts = new Map<string, number>();
  for (const word of words.map(sortKey)) counts.set(word, (counts.get(word) ?? 0) + 1);
  const isRare = (word: string) => counts.get(sortKey(word))! < FREQUENT_FROM;
  const rare = words.filter((word) => isRare(word) && /^\p{L}{3,}$/u.test(word));
  // The letters that follow each two, in words with a blank before and after them.
  const followers = new Map<string, string[]>();
  for (const word of rare.map(sortKey)) {
    const letters = `  ${word} `;
    for (let i = 2; i < letters.length; i += 1) {
      const before = letters.slice(i - 2, i);
      const known = followers.get(before);
      if (known === undefined) followers.set(before, [letters[i]!]);
      else known.push(letters[i]!);
    }
  }

  return (index) => {
    const random = seededRandom(Math.imul(index + 1, 0x9e3779b1) ^ seed);
    const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!;
    const invent = () => {
      let letters = '  ';
      while (letters.length < LONGEST_INVENTED + 2) {
        const next = pick(followers.get(letters.slice(-2))!);
        if (next === ' ') break;
        letters += next;
      }
      return letters.slice(2);
    };
    const name = pick(names).replace(WORD, (word) => {
      if (!isRare(word)) return random() < REPLACED_FREQUENT ? pick(words) : word;
      const other = random() < INVENTED ? invent() : pick(rare);
      return word === word.toUpperCase()
        ? other.toUpperCase()
        : other.replace(/^./u, (first) => first.toUpperCase());
    });
    return { nif: nifOf(index), name };
  };
}

/** The rows of a directory file with the columns `nif` and `legal_name`. */
export async function readRows(csv: string): Promise<{ nif: string; name: string }[]> {
  const [, ...lines] = (await Bun.file(csv).text()).trimEnd().split(/\r?\n/);
  return lines.map((line) => {
    const comma = line.indexOf(',');
    const name = line.slice(comma + 1).replace(/^"(.*)"$/, '$1');
    return { nif: line.slice(0, comma), name: name.replaceAll('""', '"') };
  });
}

/** The example directory. */
export const EXAMPLES = join(import.meta.dir, '../../examples/companies.csv');
