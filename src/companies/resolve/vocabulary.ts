/**
 * Reads the frequency of the words of some names. The vocabulary, a table of each generation, has every word with the number
 * of entries that have it. It is read twice: for the words themselves, then for the near words and parts of the rare ones.
 */
import { setImmediate } from 'node:timers/promises';
import { bodyOf } from './bodies.ts';
import { editsOf, hasNearWords } from './edits.ts';
import { HEAVIEST, isHeavy, isKey, type NameWords, type WeighedName, weightOf } from './words.ts';

/** Reads the vocabulary of one generation. */
export interface VocabularyReader {
  /** Entries of the directory. */
  rows: number;
  /** The entries that have each word. A word that none has is absent. */
  count(words: string[]): Promise<ReadonlyMap<string, number>>;
  /** The first `limit` words that begin with each text, by code point, and the entries that have each. */
  wordsFrom(beginnings: string[], limit: number): Promise<readonly WordFrom[]>;
}

export interface WordFrom {
  beginning: string;
  word: string;
  entries: number;
}

/** A name with what the directory knows of its words. */
export interface KnownName extends WeighedName {
  /** Entries that have a word of this name, a join, a near word or a part of one; 0 for any other. */
  entriesOf(word: string): number;
  /** Near words of a rare word, those of the fewest entries first. */
  nearWords(word: string): readonly string[];
  /** Pairs of words that a rare word may consist of. */
  splits(word: string): readonly [string, string][];
  /** Words that begin with an unknown word, by code point. */
  longerWords(word: string): readonly string[];
}

/** Rare words of a name that near words and splits are looked up for. */
const MAX_SOUGHT = 4;
/** Near words, and longer words, of a word at most. */
const MAX_OTHERS = 20;
const MIN_LETTERS = 4;
const MAX_LETTERS = 30;
const NONE: readonly never[] = [];

/** Reads what the vocabulary has on some names. The outcome for a name doesn't depend on the others. The event loop is given back after each word's edits. */
export async function readVocabulary(reader: VocabularyReader, names: NameWords[]): Promise<KnownName[]> {
  const bodies = names.map(({ words }) => bodyOf(words));
  const ofBodies = bodies.flatMap((body) => body?.phrases.flat() ?? []);
  const entries = new Map(
    await reader.count(unique([...names.flatMap(({ words }) => withJoins(words)), ...ofBodies])),
  );
  const entriesOf = (word: string) => entries.get(word) ?? 0;
  const isRare = (word: string) => weightOf(entriesOf(word), reader.rows) === HEAVIEST;
  const heavy = (words: string[]) => words.filter((word) => isHeavy(word) && word.length <= MAX_LETTERS);
  const sought = names.map(({ words }) => unique(heavy(words).filter(isRare)).slice(0, MAX_SOUGHT));
  const unknown = unique(names.flatMap(({ words }) => heavy(words))).filter(
    (word) => word.length >= MIN_LETTERS && entriesOf(word) === 0,
  );

  const edits = new Map<string, string[]>();
  for (const word of unique(sought.flat()).filter(hasNearWords)) {
    edits.set(word, [...editsOf(word)]);
    await setImmediate();
  }
  const parts = new Map(unique(sought.flat()).map((word) => [word, splitsOf(word)]));
  const [counted, longer] = await Promise.all([
    reader.count(unique([...edits.values(), ...parts.values()].flat(2))),
    reader.wordsFrom(unknown, MAX_OTHERS),
  ]);
  for (const [word, count] of counted) entries.set(word, count);
  for (const { word, entries: count } of longer) entries.set(word, count);

  const byEntries = (one: string, other: string) =>
    entriesOf(one) - entriesOf(other) || (one < other ? -1 : 1);
  const near = new Map(
    [...edits].map(([word, all]) => {
      const known = all.filter((edit) => edit.length >= MIN_LETTERS && entriesOf(edit) > 0);
      return [word, known.sort(byEntries).slice(0, MAX_OTHERS)];
    }),
  );
  return names.map((name, at) => {
    const nearWords = (word: string) => (sought[at]!.includes(word) && near.get(word)) || NONE;
    /** An unknown word counts as its most frequent near word, which is the last, or else as a word of one entry. */
    const weightOfWord = (word: string) =>
      weightOf(entriesOf(word) || entriesOf(nearWords(word).at(-1) ?? '') || 1, reader.rows);
    return {
      ...name,
      weights: name.words.map((word) => (isHeavy(word) ? weightOfWord(word) : 0)),
      entriesOf,
      body: bodies[at]!,
      isKnown: (word) => entriesOf(word) > 0,
      nearWords,
      splits: (word) =>
        sought[at]!.includes(word)
          ? parts.get(word)!.filter((pair) => pair.every((part) => entriesOf(part) > 0))
          : NONE,
      longerWords: (word) =>
        longer.filter(({ beginning }) => beginning === word).map(({ word: found }) => found),
    };
  });
}

/** The words, and each joined with the next one and the next two. */
function withJoins(words: string[]): string[] {
  return words.flatMap((_, at) => [1, 2, 3].map((count) => joined(words, at, count))).filter(isKey);
}

/** Some neighbours as one word. */
export const joined = (words: string[], from: number, count: number) =>
  words.slice(from, from + count).join('');

/** The ways to part a word in two of at least two letters, one of them of at least four. */
function splitsOf(word: string): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 2; at <= word.length - 2; at += 1) {
    if (Math.max(at, word.length - at) >= MIN_LETTERS) pairs.push([word.slice(0, at), word.slice(at)]);
  }
  return pairs;
}

const unique = <T>(items: Iterable<T>): T[] => [...new Set(items)];
