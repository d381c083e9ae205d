/** The order of candidates, and whether the first one is clear (docs/resolutions.md: the rule of resolutions). Every number is a sum of weights or a count. */
import type { SearchEntry, SortedEntry } from '../search/document.ts';
import { bodyOf } from './bodies.ts';
import { type Compared, compare, type Evidence, type Kind } from './evidence.ts';
import { heavyPlaces, initialsOf, isHeavy, type NameWords, periodsOf, type WeighedName } from './words.ts';

/** An entry that one of the reads has found. */
export interface Candidate extends SortedEntry {
  /** docs/api.md: normalized name. */
  normalized: string;
}

/** A candidate as it is answered. */
interface Shown extends SearchEntry, Pick<Compared, 'evidence' | 'extra'> {
  /** Weight of the words that the candidate lacks. */
  missing: number;
  /** Weight of the words that it has in another form. */
  changed: number;
}

interface Ranked extends Candidate, Compared, Shown {
  likeness: Likeness;
}

/** The candidates that are compared word by word. */
export const MAX_COMPARED = 40;
/** The candidates in an answer. */
export const MAX_CANDIDATES = 5;

const UNCHANGED: Kind[] = ['same', 'joined'];
const MAX_CHANGED_WHEN_CLEAR = 8;
const CONSONANT_LAST = /[^aeiou]$/;
/** Letters of a word in which one may be wrong. */
const MIN_LETTERS = 5;
/** The weight of a word that marks a company. */
const MIN_MARK = 4;

/** How much a candidate's whole name is the name's. */
enum Likeness {
  None,
  /** The same heavy words in their order, beside another name of the same public body. */
  SameBody,
  /** The same heavy words in their order. */
  SameWords,
  /** The same normalized name. */
  Equal,
}

export interface Outcome {
  /** Whether the first candidate alone, of those compared, has the name or, if none has it, every weighed word. */
  clear: boolean;
  /** At most {@link MAX_CANDIDATES}, the best first. */
  candidates: Shown[];
}

/** Ranks the candidates of a name. @param candidates each entry once */
export function rank(name: WeighedName, candidates: Candidate[], maxCompared = MAX_COMPARED): Outcome {
  const ranked = likeliest(name, candidates, maxCompared)
    .map((candidate) => rankOne(name, candidate))
    .sort(compareRanked);
  const shown = ranked.filter((candidate) => isShown(name, candidate));
  return { clear: isClear(name, ranked), candidates: shown.slice(0, MAX_CANDIDATES) };
}

/** The candidates that lack the least weight, by the first three letters of words. It is a tenth of the work of a comparison. */
function likeliest(
  { normalized, words, weights }: WeighedName,
  candidates: Candidate[],
  most: number,
): Candidate[] {
  if (candidates.length <= most) return candidates;
  const beginnings = words.map((word) => ` ${word.slice(0, 3)}`);
  const body = bodyOf(words);
  const lacking = (candidate: Candidate) => {
    if (candidate.normalized === normalized) return -1;
    const text = ` ${candidate.normalized}`;
    const isBody = body?.phrases.some(([first]) => text.startsWith(` ${first}`));
    let sum = 0;
    for (const [at, beginning] of beginnings.entries()) {
      if (!text.includes(beginning) && !(isBody && body!.places.includes(at))) sum += weights[at]!;
    }
    return sum;
  };
  return candidates
    .map((candidate) => ({ candidate, lacks: lacking(candidate) }))
    .sort(
      (one, other) =>
        one.lacks - other.lacks ||
        one.candidate.normalized.length - other.candidate.normalized.length ||
        compareResults(one.candidate, other.candidate),
    )
    .slice(0, most)
    .map(({ candidate }) => candidate);
}

function rankOne(name: WeighedName, candidate: Candidate): Ranked {
  const compared = compare(name, candidate.normalized);
  const heavy = heavyWeights(name);
  let missing = 0;
  let changed = 0;
  for (const [at, { kind }] of compared.evidence.entries()) {
    if (kind === 'missing') missing += heavy[at]!;
    else if (!UNCHANGED.includes(kind)) changed += heavy[at]!;
  }
  const ranked = { ...candidate, ...compared, missing, changed };
  return { ...ranked, likeness: likenessOf(name, ranked) };
}

function likenessOf(name: WeighedName, { normalized, legalName, missing, extra }: Omit<Ranked, 'likeness'>) {
  if (normalized === name.normalized) return Likeness.Equal;
  const candidate = wordsOf({ normalized, legalName });
  if (missing > 0 || extra > 0 || !haveSameInitials(name, candidate)) return Likeness.None;
  const areSame = (ours: string, theirs: string) => ours !== '' && ours === theirs;
  if (areSame(heavyText(name.words), heavyText(candidate.words))) return Likeness.SameWords;
  const [body, other] = [bodyOf(name.words), bodyOf(candidate.words)];
  if (body === null || body.phrases !== other?.phrases) return Likeness.None;
  const isSameBody = areSame(heavyText(name.words, body.places), heavyText(candidate.words, other.places));
  return isSameBody ? Likeness.SameBody : Likeness.None;
}

const wordsOf = ({ normalized, legalName }: Pick<Candidate, 'normalized' | 'legalName'>) => ({
  words: normalized.split(' '),
  written: legalName,
});

/** The heavy words run together, as neighbours may be joined. */
const heavyText = (words: string[], without: number[] = []) =>
  words.filter((word, at) => isHeavy(word) && !without.includes(at)).join('');

function compareRanked(one: Ranked, other: Ranked): number {
  return (
    other.likeness - one.likeness ||
    one.missing - other.missing ||
    one.changed - other.changed ||
    one.extra - other.extra ||
    compareResults(one, other)
  );
}

/**
 * Whether enough speaks for a candidate to show it: it has half of the name's weight, or the name has all of its words, or its first
 * heavy word is used and no word of the name weighs more than the first.
 */
function isShown(name: WeighedName, { likeness, missing, extra, evidence, isFirstUsed }: Ranked): boolean {
  if (likeness > Likeness.None) return true;
  const heavy = heavyWeights(name);
  if (heavy.length === 0) return false;
  const all = heavy.reduce((sum, weight) => sum + weight, 0);
  if (missing <= all - missing) return true;
  return isFirstUsed && (heavy[0] === Math.max(...heavy) || (extra === 0 && hasMark(name, evidence)));
}

/** @param ranked in their order */
function isClear(name: WeighedName, [first, second]: Ranked[]): boolean {
  if (first === undefined) return false;
  if (first.likeness > Likeness.None) return second === undefined || second.likeness < first.likeness;
  if (first.missing > 0 || first.changed > MAX_CHANGED_WHEN_CLEAR || !first.isFirstUsed) return false;
  // A long name that has the words here and there is another company's.
  if (first.extra > first.evidence.length && !first.isExtraLast) return false;
  if (hasOtherWord(name, first)) return false;
  // One more word in a public body's name is another place.
  if (first.extra > 0 && bodyOf(name.words) !== null) return false;
  if (!haveSameInitials(name, wordsOf(first))) return false;
  return hasMark(name, first.evidence) && (second === undefined || second.missing > 0);
}

/** Whether a word that marks a company is as written. */
function hasMark(name: WeighedName, evidence: Evidence[]): boolean {
  const heavy = heavyWeights(name);
  return evidence.some(({ kind }, at) => UNCHANGED.includes(kind) && heavy[at]! >= MIN_MARK);
}

/**
 * Whether a word stands for another one that it hardly is. A word that the directory knows is no error, in a short one a letter makes
 * another word. An abbreviation has a period that does not end the name, and ends in a consonant.
 */
function hasOtherWord({ written, words, isKnown }: WeighedName, { evidence }: Ranked): boolean {
  const periods = periodsOf(written);
  const heavy = heavyPlaces(words);
  return evidence.some(({ kind, text }, at) => {
    const word = words[heavy[at]!]!;
    if (kind === 'beginning') {
      const isLast = heavy[at]! === words.length - 1;
      return !(periods[heavy[at]!] && !isLast && text.startsWith(word) && CONSONANT_LAST.test(word));
    }
    if (kind === 'letter') return isKnown(word) || Math.min(word.length, text.length) < MIN_LETTERS;
    return kind === 'initials' && isKnown(word);
  });
}

/** Whether two names have the same initials, or one has none and the other's are joined in its first word, or are an article. */
function haveSameInitials(one: Pick<NameWords, 'words' | 'written'>, other: typeof one): boolean {
  const [ours, theirs] = [initialsOf(one.words, one.written), initialsOf(other.words, other.written)];
  if (ours === theirs) return true;
  if (ours !== '' && theirs !== '') return false;
  const [having, lacking] = ours === '' ? [other, one] : [one, other];
  const initials = ours + theirs;
  const isArticle =
    ['a', 'o'].includes(initials) && having.words[0] === initials && !periodsOf(having.written)[0];
  return isArticle || initials === lacking.words[0];
}

/** In the order of the evidence. */
const heavyWeights = ({ weights }: WeighedName) => weights.filter((weight) => weight > 0);

/** docs/api.md: order of results. */
function compareResults(one: Candidate, other: Candidate): number {
  return compareCodePoints(one.sortKey, other.sortKey) || compareCodePoints(one.nif, other.nif);
}

/** Compares as UTF-8 does. `<` would put both halves of a character above U+FFFF before U+E000. */
export function compareCodePoints(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  return placeOf(one, at) - placeOf(other, at);
}

function placeOf(text: string, at: number): number {
  if (at >= text.length) return -1;
  const unit = text.charCodeAt(at);
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
