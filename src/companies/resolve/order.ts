/** The order of candidates, and whether the first one is clear (docs/resolutions.md: the rule of resolutions). Every number is a sum of weights or a count. */
import type { DirectoryEntry, SearchEntry } from '../search/document.ts';
import { bodyOf } from './bodies.ts';
import { isWithinEdits } from './edits.ts';
import {
  type Compared,
  compare,
  type Evidence,
  FREQUENT_WEIGHT,
  type Kind,
  mayBeInitials,
} from './evidence.ts';
import {
  companyForm,
  heavyPlaces,
  initialsOf,
  isHeavy,
  type NameWords,
  periodsOf,
  type WeighedName,
} from './words.ts';

/** A candidate as it is answered. */
interface Shown extends SearchEntry, Pick<Compared, 'evidence'> {
  /** Weight of the words that the candidate lacks. */
  missing: number;
  /** Weight of the words that it has in another form. */
  changed: number;
  /** The candidate's heavy words that explain none of the name's. */
  extra: number;
}

interface Ranked extends DirectoryEntry, Compared, Shown {
  likeness: Likeness;
}

/** The candidates that are compared word by word. */
const MAX_COMPARED = 40;
/** The candidates in an answer. */
export const MAX_CANDIDATES = 5;

const UNCHANGED: Kind[] = ['same', 'joined'];
const MAX_CHANGED_WHEN_CLEAR = 8;
/** Letters of a word in which one may be wrong. */
const MIN_LETTERS = 5;
/** Letters of a light word, and of an extra one, that may be forms of one word. */
const MIN_FORM = 3;
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
export function rank(name: WeighedName, candidates: DirectoryEntry[]): Outcome {
  const ranked = likeliest(name, candidates)
    .map((candidate) => rankOne(name, candidate))
    .sort(compareRanked);
  const shown = ranked.filter((candidate) => isShown(name, candidate));
  return { clear: isClear(name, ranked), candidates: shown.slice(0, MAX_CANDIDATES) };
}

/** The candidates that lack the least weight, by the first three letters of words. It is a tenth of the work of a comparison. */
function likeliest(
  { normalized, words, weights, body }: WeighedName,
  candidates: DirectoryEntry[],
): DirectoryEntry[] {
  if (candidates.length <= MAX_COMPARED) return candidates;
  const beginnings = words.map((word) => ` ${word.slice(0, 3)}`);
  const lacking = (candidate: DirectoryEntry) => {
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
    .slice(0, MAX_COMPARED)
    .map(({ candidate }) => candidate);
}

function rankOne(name: WeighedName, candidate: DirectoryEntry): Ranked {
  const compared = compare(name, candidate.normalized);
  const heavy = heavyWeights(name);
  let missing = 0;
  let changed = 0;
  for (const [at, { kind }] of compared.evidence.entries()) {
    if (kind === 'missing') missing += heavy[at]!;
    else if (!UNCHANGED.includes(kind)) changed += heavy[at]!;
  }
  const ranked = { ...candidate, ...compared, missing, changed, extra: compared.unused.length };
  return { ...ranked, likeness: likenessOf(name, ranked) };
}

function likenessOf(name: WeighedName, { normalized, legalName, missing, extra }: Omit<Ranked, 'likeness'>) {
  if (normalized === name.normalized) return Likeness.Equal;
  const candidate = wordsOf({ normalized, legalName });
  if (missing > 0 || extra > 0 || !haveSameInitials(name, candidate)) return Likeness.None;
  if (areAlike(name.words, candidate.words)) return Likeness.SameWords;
  const { body } = name;
  const other = body && bodyOf(candidate.words);
  if (body === null || body.phrases !== other?.phrases) return Likeness.None;
  const without = (words: string[], places: number[]) => words.filter((_, at) => !places.includes(at));
  const isSameBody = areAlike(without(name.words, body.places), without(candidate.words, other.places));
  return isSameBody ? Likeness.SameBody : Likeness.None;
}

/**
 * Whether two names have the same heavy words in their order. Neighbours may be joined, and one name may have initials beside the words
 * that they are of.
 */
function areAlike(ours: string[], theirs: string[]): boolean {
  const [one, other] = [ours.filter(isHeavy), theirs.filter(isHeavy)];
  const text = one.join('');
  const texts = [text, withoutInitials(one)];
  return text !== '' && (texts.includes(other.join('')) || text === withoutInitials(other));
}

function withoutInitials(words: string[]): string {
  const lettersBeside = (at: number) =>
    words
      .toSpliced(at, 1)
      .map((word) => word[0])
      .join('');
  return words.filter((word, at) => !(mayBeInitials(word) && lettersBeside(at).includes(word))).join('');
}

const wordsOf = ({ normalized, legalName }: Pick<DirectoryEntry, 'normalized' | 'legalName'>) => ({
  words: normalized.split(' '),
  written: legalName,
});

function compareRanked(one: Ranked, other: Ranked): number {
  return (
    other.likeness - one.likeness ||
    one.missing - other.missing ||
    one.changed - other.changed ||
    Number(other.isExtraLast) - Number(one.isExtraLast) ||
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
  if (first.likeness < Likeness.Equal && (isCut(name) || isOtherBody(name, first))) return false;
  if (first.likeness > Likeness.None) return second === undefined || second.likeness < first.likeness;
  if (first.missing > 0 || first.changed > MAX_CHANGED_WHEN_CLEAR || !first.isFirstUsed) return false;
  // A long name that has the words here and there is another company's.
  if (first.extra > first.evidence.length && !first.isExtraLast) return false;
  if (hasOtherWord(name, first)) return false;
  if (!haveSameInitials(name, wordsOf(first), first.extra === 0)) return false;
  // A brand alone with another legal form is another company of the brand.
  const forms = new Set([companyForm(name.written), companyForm(first.legalName), null]);
  if (first.evidence.length === 1 && first.extra > 0 && forms.size > 2) return false;
  return hasMark(name, first.evidence) && (second === undefined || second.missing > 0);
}

/** Whether a name ends with a preposition, so that it has lost its last words. */
const isCut = ({ words }: WeighedName) => /^(d[aeo]|d[ao]s|em|n[ao]|para|com|por)$/.test(words.at(-1) ?? '');

/** Whether a name is of a public body, and a candidate of a company or of another place, as one more word says. */
function isOtherBody({ body, written }: WeighedName, { extra, normalized, legalName }: Ranked): boolean {
  if (body === null) return false;
  const isSameKind = bodyOf(normalized.split(' '))?.phrases === body.phrases;
  return extra > 0 || !isSameKind || companyForm(written) !== companyForm(legalName);
}

/** Whether a word that marks a company is as written. */
function hasMark(name: WeighedName, evidence: Evidence[]): boolean {
  const heavy = heavyWeights(name);
  return evidence.some(({ kind }, at) => UNCHANGED.includes(kind) && heavy[at]! >= MIN_MARK);
}

/**
 * Whether a word stands for another one that it hardly is. A word that the directory knows is no error, in a short one a letter makes
 * another word. A light word is no form of an extra one.
 */
function hasOtherWord(
  { written, words, weights, isKnown }: WeighedName,
  { evidence, unused, ...candidate }: Ranked,
): boolean {
  const ours = { words, periods: periodsOf(written) };
  const theirs = { words: candidate.normalized.split(' '), periods: periodsOf(candidate.legalName) };
  const isForm = (word: string, other: string) =>
    other.startsWith(word) || word.startsWith(other) || isWithinEdits(word, other, 1);
  const isLightForm = words.some(
    (word, at) =>
      !isHeavy(word) &&
      word.length >= MIN_FORM &&
      !(ours.periods[at] || theirs.words.includes(word)) &&
      unused.some((other) => other.length >= MIN_FORM && isForm(word, other)),
  );
  if (isLightForm) return true;
  return heavyPlaces(words).some((at, place) => {
    const { kind, text } = evidence[place]!;
    const word = words[at]!;
    if (kind === 'letter') return isKnown(word) || Math.min(word.length, text.length) < MIN_LETTERS;
    if (kind !== 'beginning') return kind === 'initials' && isKnown(word);
    const other = theirs.words.indexOf(text);
    if (ours.periods[at] && theirs.periods[other]) return true;
    if (text.startsWith(word)) return !isAbbreviation(ours, at);
    return weights[at]! > FREQUENT_WEIGHT || !isAbbreviation(theirs, other);
  });
}

/** Whether a word that begins another is an abbreviation: it has a period that does not end the name, and ends in a consonant. */
const isAbbreviation = ({ words, periods }: { words: string[]; periods: boolean[] }, at: number) =>
  periods[at]! && at < words.length - 1 && /[^aeiou]$/.test(words[at]!);

/** Whether two names have the same initials, or one has none and the other's are joined in its first word, or perhaps an article. */
function haveSameInitials(
  one: Pick<NameWords, 'words' | 'written'>,
  other: typeof one,
  mayBeArticle = true,
): boolean {
  const [ours, theirs] = [initialsOf(one.words, one.written), initialsOf(other.words, other.written)];
  if (ours === theirs) return true;
  if (ours !== '' && theirs !== '') return false;
  const [having, lacking] = ours === '' ? [other, one] : [one, other];
  const initials = ours + theirs;
  const isArticle =
    mayBeArticle &&
    ['a', 'o'].includes(initials) &&
    having.words[0] === initials &&
    !periodsOf(having.written)[0];
  return isArticle || initials === lacking.words[0];
}

/** In the order of the evidence. */
const heavyWeights = ({ weights }: WeighedName) => weights.filter((weight) => weight > 0);

/** docs/api.md: order of results. */
function compareResults(one: DirectoryEntry, other: DirectoryEntry): number {
  return compareCodePoints(one.sortKey, other.sortKey) || compareCodePoints(one.nif, other.nif);
}

/** Compares as UTF-8 does. `<` would put both halves of a character above U+FFFF before U+E000. */
function compareCodePoints(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  return placeOf(one, at) - placeOf(other, at);
}

function placeOf(text: string, at: number): number {
  if (at >= text.length) return -1;
  const unit = text.charCodeAt(at);
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
