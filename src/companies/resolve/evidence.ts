/**
 * The evidence for a candidate: one for each heavy word of the name. The kinds are tried one after the other, each over the
 * words from the left, and each takes the leftmost unused word of the candidate (docs/resolutions.md: the rule of resolutions).
 */
import { bodyOf } from './bodies.ts';
import { isWithinEdits } from './edits.ts';
import { type Body, heavyPlaces, isHeavy, type WeighedName } from './words.ts';

/** How the candidate has a word, from the strongest kind to none. */
export const KINDS = ['body', 'same', 'joined', 'letter', 'beginning', 'initials', 'missing'] as const;
export type Kind = (typeof KINDS)[number];

export interface Evidence {
  kind: Kind;
  /** The candidate's words; the name's own if the kind is `same` or `missing`. */
  text: string;
}

/** A candidate's words beside the name's. */
export interface Compared {
  /** One for each heavy word of the name, in their order. */
  evidence: Evidence[];
  /** Heavy words of the candidate that explain none of the name's. */
  unused: string[];
  /** Whether the candidate's first heavy word explains a word of the name. */
  isFirstUsed: boolean;
  /** Whether all extra words come after those that explain one. */
  isExtraLast: boolean;
}

/** The words of one side. */
interface Side {
  words: string[];
  /** The evidence of the name's words; of the candidate's only whether they are used. */
  found: (Evidence | null)[];
}

/** A weight up to which a beginning of three letters is enough. */
export const FREQUENT_WEIGHT = 2;
const MAX_JOINED = 5;
const DIGIT = /\p{N}/u;

/** Compares a name with that of a candidate, in normalized form. */
export function compare({ words, weights, body }: WeighedName, normalized: string): Compared {
  const name: Side = { words, found: words.map(() => null) };
  const theirs = normalized.split(' ');
  const candidate: Side = { words: theirs, found: theirs.map(() => null) };
  rename(name, body, candidate);
  pair(
    name,
    candidate,
    'same',
    (one, other) => one === other,
    () => true,
  );
  join(name, candidate);
  join(candidate, name);
  pair(name, candidate, 'letter', isOneLetterOff);
  pair(name, candidate, 'beginning', (one, other, at) =>
    isBeginning(one, other, weights[at]! <= FREQUENT_WEIGHT ? 3 : 4),
  );
  abbreviate(name, candidate);
  abbreviate(candidate, name);
  const isUsed = heavyPlaces(theirs).map((at) => candidate.found[at] !== null);
  return {
    evidence: heavyPlaces(words).map((at) => name.found[at] ?? { kind: 'missing', text: words[at]! }),
    unused: theirs.filter((word, at) => isHeavy(word) && candidate.found[at] === null),
    isFirstUsed: isUsed[0] === true,
    isExtraLast: !isUsed.includes(false) || isUsed.lastIndexOf(true) < isUsed.indexOf(false),
  };
}

/** Explains the words for a public body that the candidate begins with in other words. */
function rename(name: Side, ours: Body | null, candidate: Side): void {
  const theirs = ours && bodyOf(candidate.words);
  if (ours === null || ours.phrases !== theirs?.phrases || ours.phrase === theirs.phrase) return;
  explain('body', name, ours.places, candidate, theirs.places);
}

/** Pairs each unexplained word of the name with the first unused one of the candidate that fits. */
function pair(
  name: Side,
  candidate: Side,
  kind: Kind,
  fits: (word: string, other: string, at: number) => boolean,
  isMeant = isHeavy,
): void {
  for (const [at, word] of name.words.entries()) {
    if (name.found[at] !== null || !isMeant(word)) continue;
    const place = candidate.words.findIndex(
      (other, position) => candidate.found[position] === null && isMeant(other) && fits(word, other, at),
    );
    if (place !== -1) explain(kind, name, [at], candidate, [place]);
  }
}

/** Finds unused neighbours of one side that are one unused word of the other. */
function join(neighbours: Side, whole: Side): void {
  const longest = Math.max(0, ...whole.words.map((word, at) => (whole.found[at] === null ? word.length : 0)));
  for (let from = 0; from + 1 < neighbours.words.length; from += 1) {
    if (neighbours.words[from]!.length + neighbours.words[from + 1]!.length > longest) continue;
    for (let count = Math.min(MAX_JOINED, neighbours.words.length - from); count >= 2; count -= 1) {
      const places = Array.from({ length: count }, (_, step) => from + step);
      if (places.some((place) => neighbours.found[place] !== null)) continue;
      const joined = neighbours.words.slice(from, from + count).join('');
      const at = whole.words.findIndex((word, place) => word === joined && whole.found[place] === null);
      if (at === -1) continue;
      explain('joined', neighbours, places, whole, [at]);
      break;
    }
  }
}

/** Whether a word may be the initials of others. */
export const mayBeInitials = (word: string) => isHeavy(word) && word.length >= 3 && word.length <= 8;

/** Finds unused words of one side that are the first letters of as many heavy neighbours of the other, used ones too. */
function abbreviate(short: Side, long: Side): void {
  const named = long.words.flatMap((word, place) => (isHeavy(word) && !/^\p{N}/u.test(word) ? [place] : []));
  const letters = named.map((place) => long.words[place]![0]).join('');
  for (const [at, word] of short.words.entries()) {
    if (short.found[at] !== null || !mayBeInitials(word)) continue;
    // Rather a word that was cut.
    if (long.words.some((other) => other.startsWith(word))) continue;
    const from = letters.indexOf(word);
    if (from !== -1) explain('initials', short, [at], long, named.slice(from, from + word.length));
  }
}

/** Marks words of both sides. A word that is explained already keeps its evidence. */
function explain(kind: Kind, one: Side, places: number[], other: Side, others: number[]): void {
  const text = (side: Side, of: number[]) => of.map((place) => side.words[place]).join(' ');
  for (const place of places) one.found[place] ??= { kind, text: text(other, others) };
  for (const place of others) other.found[place] ??= { kind, text: text(one, places) };
}

/** Letters may be wrong in words without digits: numbers that differ by one digit are different numbers. */
function isOneLetterOff(word: string, other: string): boolean {
  const isLong = Math.min(word.length, other.length) >= 4;
  return isLong && !DIGIT.test(word) && !DIGIT.test(other) && isWithinEdits(word, other, 1);
}

function isBeginning(word: string, other: string, least: number): boolean {
  return Math.min(word.length, other.length) >= least && (word.startsWith(other) || other.startsWith(word));
}
