/** Which entries are compared with a name: three bounded reads of the directory, chosen by how many entries have each word. */
import { joined, type KnownName } from './vocabulary.ts';
import { heavyPlaces, isKey } from './words.ts';

/** Words that an entry must all have. */
type Key = readonly string[];

/** The first `limit` entries, in the order of results, that have a key of every group. */
export interface Read {
  groups: (readonly Key[])[];
  limit: number;
}

/** The most entries of each read. */
const LIMITS = { any: 600, both: 300, all: 100 };

/** Keys of one word of the name, of which an entry has one. */
interface Group {
  keys: readonly Key[];
  /** Entries of its keys together. */
  size: number;
}

const MAX_GROUPS = 3;
const MAX_PARTNERS = 3;

/**
 * The reads for a name: the entries that have any of its rarest words, those that have two of the frequent ones, and those that
 * have all words that the directory knows.
 */
export function readsOf(name: KnownName): Read[] {
  const { body } = name;
  const places = heavyPlaces(name.words).filter((at) => !body?.places.includes(at));
  const asked = places.length === 0 && body === null ? [...name.words.keys()] : places;
  const known = [...(body === null ? [] : [body.phrases]), ...asked.map((at) => [[name.words[at]!]])]
    .map((keys) => groupOf(name, keys))
    .filter(({ size }) => size > 0);
  const others = asked.map((at) => groupOf(name, otherForms(name, at))).filter(({ size }) => size > 0);
  const smallestFirst = [...known, ...others].sort((one, other) => one.size - other.size);

  const any: Group[] = [];
  let entries = 0;
  for (const group of smallestFirst.slice(0, MAX_GROUPS)) {
    entries += group.size;
    if (entries > LIMITS.any) break;
    any.push(group);
  }
  const rest = smallestFirst.filter((group) => known.includes(group) && !any.includes(group));
  const frequent = rest.length > 0 ? rest : smallestFirst;
  const reads: Read[] = [];
  if (any.length > 0) reads.push({ groups: [any.flatMap(({ keys }) => keys)], limit: LIMITS.any });
  if (rest.length > 1) {
    const partners = rest.slice(1, 1 + MAX_PARTNERS).flatMap(({ keys }) => keys);
    reads.push({ groups: [rest[0]!.keys, partners], limit: LIMITS.both });
  } else if (any.length === 0 && frequent.length > 0) {
    reads.push({ groups: [frequent[0]!.keys], limit: LIMITS.both });
  }
  if (known.length > 1) reads.push({ groups: known.map(({ keys }) => keys), limit: LIMITS.all });
  return reads;
}

/** @param keys of which those count that the directory has */
function groupOf({ entriesOf }: KnownName, keys: readonly Key[]): Group {
  const sizes = keys.map((words) => Math.min(...words.map(entriesOf)));
  return {
    keys: keys.filter((_, at) => sizes[at]! > 0),
    size: sizes.reduce((sum, size) => sum + size, 0),
  };
}

/** Other forms in which an entry may have a word: near words, joined with the next words, parted in two, longer ones. */
function otherForms(name: KnownName, at: number): Key[] {
  const word = name.words[at]!;
  const joins = [2, 3]
    .filter((count) => at + count <= name.words.length)
    .map((count) => joined(name.words, at, count))
    .filter(isKey);
  const single = new Set([...name.nearWords(word), ...joins, ...name.longerWords(word)]);
  return [...[...single].map((form) => [form]), ...name.splits(word)];
}
