import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type ListRow, type WantedRows, walk } from '../../src/matches/walk.ts';
import { PLACE_BYTES, readPlaces, writePlace } from '../../src/matches/word-lists.ts';

/** The bytes of a row with these places. */
function bytesOf(places: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(places.length * PLACE_BYTES);
  let length = 0;
  let before = 0;
  for (const place of places) {
    length = writePlace(bytes, length, place - before);
    before = place;
  }
  return bytes.subarray(0, length);
}

const ascending = (places: readonly number[]) => [...new Set(places)].sort((a, b) => a - b);

/** Lists in memory by their names, in rows of so many places; it counts what is read of them. */
function createLists(lists: Record<string, readonly number[]>, placesInRow: number) {
  const read = { rows: 0, names: 0 };
  const rowsOf = ({ key, since, rows }: WantedRows): ListRow[] => {
    const places = lists[key] ?? [];
    const all: ListRow[] = [];
    for (let at = 0; at < places.length; at += placesInRow) {
      const some = places.slice(at, at + placesInRow);
      all.push({ last: some.at(-1)!, places: Int32Array.from(some), isEnd: some.length < placesInRow });
    }
    const found = all.filter(({ last }) => last >= since).slice(0, rows);
    read.rows += found.length;
    return found;
  };
  return {
    read,
    readRows: async (wanted: WantedRows[]) => wanted.map(rowsOf),
    readNames: async (places: number[]) => {
      read.names += places.length;
      return places;
    },
  };
}

describe('places as bytes', () => {
  test('are the same when they are read, whatever their gaps', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 2 ** 31 - 1 })), (some) => {
        const places = ascending(some);
        expect([...readPlaces(bytesOf(places))]).toEqual(places);
      }),
    );
  });
});

describe('a walk along lists', () => {
  test('finds the first names that are in all lists, in their order, whatever the lists', async () => {
    const places = fc
      .record({ most: fc.integer({ min: 1, max: 3_000 }), some: fc.array(fc.nat(), { maxLength: 400 }) })
      .map(({ most, some }) => ascending(some.map((place) => place % most)));
    await fc.assert(
      fc.asyncProperty(
        fc.array(places, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 3 }),
        async (many, placesInRow, limit, divisor) => {
          const lists = createLists(Object.fromEntries(many.map((one, i) => [`k${i}`, one])), placesInRow);
          const accept = (place: number) => place % divisor === 0 && many.every((one) => one.includes(place));
          const found = await walk(
            many.map((_, i) => `k${i}`),
            { limit, accept, ...lists },
          );
          expect(found).toEqual(many[0]!.filter(accept).slice(0, limit));
        },
      ),
      { numRuns: 300 },
    );
  });

  test('a word that no name has ends it at once', async () => {
    const lists = createLists({ a: Array.from({ length: 10_000 }, (_, i) => i) }, 10);
    expect(await walk(['a', 'b'], { limit: 20, accept: () => true, ...lists })).toEqual([]);
    expect(lists.read).toEqual({ rows: 1, names: 0 });
  });

  test('long lists that meet often are read at their beginnings', async () => {
    const length = 100_000;
    const lists = createLists(
      {
        two: Array.from({ length }, (_, i) => 2 * i),
        three: Array.from({ length }, (_, i) => 3 * i),
      },
      100,
    );
    const found = await walk(['two', 'three'], { limit: 40, accept: () => true, ...lists });
    expect(found).toEqual(Array.from({ length: 40 }, (_, i) => 6 * i));
    expect(lists.read.rows).toBeLessThan(20);
  });

  test('few names that a short list has are read, and not a long list to its end', async () => {
    const lists = createLists(
      { short: [5_000, 99_998, 99_999], long: Array.from({ length: 100_000 }, (_, i) => i) },
      100,
    );
    const found = await walk(['long', 'short'], {
      limit: 40,
      accept: (place) => place !== 99_999,
      ...lists,
    });
    expect(found).toEqual([5_000, 99_998]);
    expect(lists.read.rows).toBeLessThan(10);
    expect(lists.read.names).toBe(3);
  });

  test('long lists that never meet are read once each, and no names but a few', async () => {
    const lists = createLists(
      {
        even: Array.from({ length: 50_000 }, (_, i) => 2 * i),
        odd: Array.from({ length: 50_000 }, (_, i) => 2 * i + 1),
      },
      100,
    );
    expect(await walk(['even', 'odd'], { limit: 40, accept: () => false, ...lists })).toEqual([]);
    expect(lists.read.rows).toBeLessThanOrEqual(1_000);
    expect(lists.read.names).toBeLessThan(100);
  });

  test('a list is read rather than names of which few are likely to be in it', async () => {
    const lists = createLists(
      {
        rare: Array.from({ length: 200 }, (_, i) => 500 * i),
        seldom: Array.from({ length: 1_900 }, (_, i) => 49 * i),
      },
      1_000,
    );
    const found = await walk(['rare', 'seldom'], { limit: 10, accept: () => true, ...lists });
    expect(found).toEqual([0, 24_500, 49_000, 73_500]);
    expect(lists.read).toEqual({ rows: 3, names: 4 });
  });

  test('of many lists the longest is not read to its end if the others leave few names', async () => {
    const lists = createLists(
      {
        all: Array.from({ length: 100_000 }, (_, i) => i),
        thousands: Array.from({ length: 100 }, (_, i) => 1_000 * i),
        hundreds: Array.from({ length: 900 }, (_, i) => 111 * i),
      },
      100,
    );
    const keys = ['all', 'thousands', 'hundreds'];
    const found = await walk(keys, { limit: 40, accept: (place) => place % 111_000 === 0, ...lists });
    expect(found).toEqual([0]);
    expect(lists.read.rows).toBeLessThan(100);
  });
});
