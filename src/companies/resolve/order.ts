/** The order of candidates, and whether the first one is clear (docs/api.md, The rule). Every number is a sum of weights or a count. */
import type { SearchEntry, SortedEntry } from '../search/document.ts';
import { type Compared, compare, type Kind } from './evidence.ts';
import type { WeighedName } from './words.ts';

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
  /** Whether its normalized name is the name's. */
  isEqual: boolean;
}

/** The candidates that are compared word by word. */
export const MAX_COMPARED = 40;
/** The candidates in an answer. */
export const MAX_CANDIDATES = 5;

const UNCHANGED: Kind[] = ['same', 'joined'];
const MAX_CHANGED_WHEN_CLEAR = 8;
const MIN_WEIGHT_WHEN_CLEAR = 4;

export interface Outcome {
  /** Whether the first candidate is the company without doubt. */
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
  const lacking = (candidate: Candidate) => {
    if (candidate.normalized === normalized) return -1;
    const text = ` ${candidate.normalized}`;
    let sum = 0;
    for (const [at, beginning] of beginnings.entries()) if (!text.includes(beginning)) sum += weights[at]!;
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
  return { ...candidate, ...compared, isEqual: candidate.normalized === name.normalized, missing, changed };
}

function compareRanked(one: Ranked, other: Ranked): number {
  return (
    Number(other.isEqual) - Number(one.isEqual) ||
    one.missing - other.missing ||
    one.changed - other.changed ||
    one.extra - other.extra ||
    compareResults(one, other)
  );
}

/**
 * Whether enough speaks for a candidate to show it: it has half of the name's weight, or its first heavy word is used and no word of
 * the name weighs more than the first.
 */
function isShown(name: WeighedName, { isEqual, missing, isFirstUsed }: Ranked): boolean {
  if (isEqual) return true;
  const heavy = heavyWeights(name);
  if (heavy.length === 0) return false;
  const all = heavy.reduce((sum, weight) => sum + weight, 0);
  return missing <= all - missing || (isFirstUsed && heavy[0] === Math.max(...heavy));
}

/** @param ranked in their order */
function isClear(name: WeighedName, [first, second]: Ranked[]): boolean {
  if (first === undefined) return false;
  if (first.isEqual) return second === undefined || !second.isEqual;
  if (first.missing > 0 || first.changed > MAX_CHANGED_WHEN_CLEAR || !first.isFirstUsed) return false;
  const heavy = heavyWeights(name);
  // A long name that has the words here and there is another company's.
  if (first.extra > heavy.length && !first.isExtraLast) return false;
  const hasMark = first.evidence.some(
    ({ kind }, at) => UNCHANGED.includes(kind) && heavy[at]! >= MIN_WEIGHT_WHEN_CLEAR,
  );
  return hasMark && (second === undefined || second.missing > 0);
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
