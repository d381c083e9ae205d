/** A row of a list of places (word-lists.ts). */
export interface ListRow {
  /** Its last place. */
  last: number;
  places: Int32Array;
  /** Whether the list certainly ends with it. */
  isEnd: boolean;
}

/** Which rows of which list. */
export interface WantedRows {
  /** Of the list. */
  key: string;
  /** The first place. */
  since: number;
  /** At most. */
  rows: number;
}

export interface WalkOptions<Name> {
  /** Names at most. */
  limit: number;
  /** Of each list, in their order. */
  readRows(wanted: WantedRows[]): Promise<ListRow[][]>;
  /** The names at these places, in their order. */
  readNames(places: number[]): Promise<Name[]>;
  /** Whether a name has all words. It is asked of names that are not in all lists, and a rare list has names with other words. */
  accept(name: Name): boolean;
}

/** Rows that are read of each list at first, and how many times as many each time after that. */
const FIRST_ROWS = 1;
const MORE_ROWS = 4;

/** So many names take about as long to read as one row. */
const NAMES_PER_ROW = 2;
/** Names that are read at a time. */
const NAMES = 64;

/**
 * The first names that are in all lists, in their order.
 *
 * It reads the lists side by side until it has enough names, or one list has ended. What is left then are that list's further
 * places. If enough names are likely to be among them, it reads some, for as long as it would take to read the shortest of the
 * other lists. If these are not enough, it does read that list, which leaves fewer places, and goes on in the same way.
 *
 * @param keys of the lists
 */
export async function walk<Name>(
  keys: string[],
  { limit, readRows, readNames, accept }: WalkOptions<Name>,
): Promise<Name[]> {
  const found: Name[] = [];
  const check = async (places: Int32Array) => {
    for (let at = 0; at < places.length && found.length < limit; at += NAMES) {
      const names = await readNames([...places.subarray(at, at + NAMES)]);
      for (const name of names) if (accept(name)) found.push(name);
    }
  };
  const readOn = async (lists: OpenList[], rows: number) => {
    const read = await readRows(lists.map((list) => ({ key: list.key, since: list.until + 1, rows })));
    for (const [index, list] of lists.entries()) list.add(read[index]!, rows);
  };

  const lists = keys.map((key) => new OpenList(key));
  for (let rows = FIRST_ROWS; !lists.some(({ isWhole }) => isWhole); rows *= MORE_ROWS) {
    await readOn(lists, rows);
    const until = Math.min(...lists.map((list) => list.until));
    await check(lists.map((list) => list.takeUntil(until)).reduce(inBoth));
    if (found.length >= limit) return found.slice(0, limit);
  }

  const others = lists.filter(({ isWhole }) => !isWhole);
  let left = lists
    .filter(({ isWhole }) => isWhole)
    .map(({ places }) => places)
    .reduce(inBoth);
  while (left.length > 0 && found.length < limit) {
    const last = left.at(-1)!;
    const share = others.reduce((product, list) => product * list.share, 1);
    const shortest = others.sort((a, b) => a.rowsUntil(last) - b.rowsUntil(last)).shift();
    const names = shortest === undefined ? left.length : NAMES + NAMES_PER_ROW * shortest.rowsUntil(last);
    if (Math.min(left.length, (limit - found.length) / share) <= names) {
      await check(left.subarray(0, names));
      left = left.subarray(names);
    }
    if (shortest === undefined || left.length === 0 || found.length >= limit) break;
    while (shortest.until < last) await readOn([shortest], 1 + Math.ceil(shortest.rowsUntil(last)));
    left = inBoth(left, shortest.places);
  }
  return found.slice(0, limit);
}

/** A list that is read as far as it is needed. */
class OpenList {
  /** What was read, without what the walk has left behind. */
  places: Int32Array = new Int32Array();
  /** All places up to this one were read; `Infinity` means the whole list. */
  until = -1;
  #rows = 0;
  #count = 0;

  constructor(readonly key: string) {}

  get isWhole(): boolean {
    return this.until === Number.POSITIVE_INFINITY;
  }

  /** @param wanted how many rows were asked for */
  add(rows: ListRow[], wanted: number): void {
    const parts = [this.places, ...rows.map((row) => row.places)];
    this.places = new Int32Array(parts.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const part of parts) {
      this.places.set(part, at);
      at += part.length;
    }
    this.#rows += rows.length;
    this.#count += at - parts[0]!.length;
    const isEnd = rows.length < wanted || rows.at(-1)!.isEnd;
    this.until = isEnd ? Number.POSITIVE_INFINITY : rows.at(-1)!.last;
  }

  /** Of the places up to `until`, 0 to 1. */
  get share(): number {
    return this.#count / (this.until + 1);
  }

  /** About how many more rows go up to a place, if the list goes on as it began. */
  rowsUntil(place: number): number {
    return Math.max(0, (this.#rows * (place - this.until)) / (this.until + 1));
  }

  /** Takes out the places up to one. */
  takeUntil(place: number): Int32Array {
    const end = this.places.findLastIndex((one) => one <= place) + 1;
    const taken = this.places.subarray(0, end);
    this.places = this.places.subarray(end);
    return taken;
  }
}

/** The places that are in both, in their order. */
function inBoth(a: Int32Array, b: Int32Array): Int32Array {
  const [few, many] = a.length < b.length ? [a, b] : [b, a];
  const both = new Int32Array(few.length);
  let count = 0;
  let at = 0;
  for (const place of few) {
    while (at < many.length && many[at]! < place) at += 1;
    if (at === many.length) break;
    if (many[at] === place) both[count++] = place;
  }
  return both.subarray(0, count);
}
