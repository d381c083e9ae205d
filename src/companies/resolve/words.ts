/** The words of a name, as resolutions read them (docs/resolutions.md: the rule of resolutions). */
import { normalizeName, sortKey } from '../name.ts';

/** Words of a name that are read, and heavy ones among them. */
export const MAX_WORDS = 24;
export const MAX_HEAVY_WORDS = 12;
/** A word of more characters is not looked up. Postgres indexes 64 characters of a word in a long name (search/words-index.ts). */
export const MAX_KEY_LENGTH = 63;

/** Articles, prepositions and legal forms. They say nothing about a company, so they are never weighed, missing or extra. */
const LIGHT_WORDS = new Set(
  (
    'a o e y de da do das dos d em no na para com por lda ld limitada sa unip unipessoal sociedade soc sgps sad crl ' +
    'epe eirl ace eem eim ip ltd sl slu gmbh sucursal'
  ).split(' '),
);

export const isHeavy = (word: string) => !LIGHT_WORDS.has(word);

/** The places of the heavy words. */
export const heavyPlaces = (words: readonly string[]): number[] =>
  words.flatMap((word, at) => (isHeavy(word) ? [at] : []));

/** A name as it was sent, in words. */
export interface NameWords {
  written: string;
  /** The whole name (docs/api.md: normalized name); `''` means that nothing is left of it. */
  normalized: string;
  /** Its words that are read, light ones among them. */
  words: string[];
}

/** The public body that a name begins with. */
export interface Body {
  /** In heavy words. */
  phrase: readonly string[];
  /** All that such a body is called, this phrase too. */
  phrases: readonly (readonly string[])[];
  /** The places of the phrase's words in the name. */
  places: number[];
}

/** A name whose words are weighed. */
export interface WeighedName extends NameWords {
  /** One for each word; 0 for a light one. */
  weights: number[];
  /** The public body that it begins with. */
  body: Body | null;
  /** Whether an entry of the directory has the word. */
  isKnown(word: string): boolean;
}

/** Reads the first {@link MAX_WORDS} words, up to the {@link MAX_HEAVY_WORDS}th heavy one. */
export function readWords(name: string): NameWords {
  const normalized = normalizeName(name);
  const words = normalized === '' ? [] : normalized.split(' ', MAX_WORDS);
  let heavy = 0;
  const end = words.findIndex((word) => isHeavy(word) && ++heavy > MAX_HEAVY_WORDS);
  return { written: name, normalized, words: end === -1 ? words : words.slice(0, end) };
}

/** The last legal form of a name, if it is that of a company by shares or by quotas. */
export function companyForm(name: string): 'shares' | 'quotas' | null {
  const words = sortKey(name)
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trimEnd();
  if (/ (s ?a|sociedade anonima)$/.test(words)) return 'shares';
  return / (l ?da?|l d a|limitada|unip|unipessoal)$/.test(words) ? 'quotas' : null;
}

/** Whether each word of a name, in its order, has a period directly behind it, as initials and abbreviations have. */
export const periodsOf = (name: string) =>
  [...sortKey(name).matchAll(/[\p{L}\p{N}]+(\.?)/gu)].map(([, period]) => period !== '');

/**
 * The initials of persons and families in a name, as one text: the single letters that it begins with, and any with a period between
 * longer words. They tell names apart, although some of them are light words elsewhere.
 */
export function initialsOf(words: string[], name: string): string {
  const periods = periodsOf(name);
  const isLetter = words.map((word) => /^\p{L}$/u.test(word));
  const isInitial = (at: number) =>
    isLetter[at] &&
    (!isLetter.slice(0, at).includes(false) ||
      (periods[at] && isLetter[at - 1] === false && isLetter[at + 1] === false));
  return words.filter((_, at) => isInitial(at)).join('');
}

/** Whether a word is short enough to be looked up. */
export const isKey = (word: string) => word.length <= MAX_KEY_LENGTH;

/** The weight of a rare word, and of one that no entry has. */
export const HEAVIEST = 8;

/**
 * The weight of a word, by the number of entries that have it.
 * @param rows entries of the directory. Fewer than 5,000 count as 5,000, because a word is not frequent in a small directory
 *   only because one company has it
 */
export function weightOf(entries: number, rows: number): number {
  const perMillion = (entries * 1_000_000) / Math.max(rows, 5_000);
  if (perMillion <= 20) return HEAVIEST;
  if (perMillion <= 500) return 4;
  return perMillion <= 5000 ? 2 : 1;
}
