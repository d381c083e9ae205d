/**
 * The lists of names by their words, from which Postgres answers matches.
 *
 * Every name has a place: its number in the order of results, from 0. A beginning of a word has a list of the places of all names
 * with such a word. A frequent beginning is divided: each beginning that is one letter longer has a list, too. So the longest
 * beginning of a word that has a list is the word itself, or rare. The end of a word counts as a letter, written as a blank.
 *
 * A generation's lists are in a table of their own, which is named after the generation's table.
 */
import { quoted } from '../postgres/identifier.ts';

/** The name of the table with the lists of a generation's table. */
export const wordsTable = (table: string): string => `${table}_words`;

/**
 * A row has some of a list's places, `last` being the last of them. The rows of the beginning `''` have NIFs instead, of
 * {@link NIFS_PER_ROW} places each. The row of {@link UNDIVIDED} has the divided beginnings, with blanks between them. Postgres
 * keeps a row of under 2,000 bytes in one piece, and does not compress it.
 */
export function createWordsTable(words: string): string {
  return `CREATE TABLE ${quoted(words)} (beginning text COLLATE "C", last integer, places bytea NOT NULL)`;
}

/** A power of two. */
export const NIFS_PER_ROW = 256;
/** A NIF as a number. */
export const NIF_BYTES = 4;

/** Bytes of places in a row, at most. Most lists are rare, and all of them are written at once. */
export const ROW_BYTES = 1_900;
export const RARE_ROW_BYTES = 500;

/** The longest beginning that can be divided, in characters, because an index entry is limited to 2,704 bytes. */
export const LONGEST_DIVIDED = 64;

/** After a beginning that is not divided. No word has this character. */
export const UNDIVIDED = '*';

/**
 * The key of the list that has all names with such a word, and maybe others. If there is no such list, no name has one.
 * @param beginning of a word, or a whole word with the blank after it
 */
export function keyOf(beginning: string, divided: ReadonlySet<string>): string {
  let key = '';
  for (const character of beginning) {
    key += character;
    if (!divided.has(key)) return character === ' ' ? key : key + UNDIVIDED;
  }
  return key;
}

/** The most bytes of a place. */
export const PLACE_BYTES = 5;

/** Whether a row of this list has room for another place, so that it is the last one. */
export function hasRoom(key: string, { length }: Uint8Array): boolean {
  return length + PLACE_BYTES <= (key.endsWith(UNDIVIDED) ? RARE_ROW_BYTES : ROW_BYTES);
}

/**
 * Writes a place behind others as the gap from the one before (0 before the first one), seven bits a byte, the lowest first.
 * @returns the next free position
 */
export function writePlace(bytes: Uint8Array, at: number, gap: number): number {
  let rest = gap;
  let next = at;
  for (; rest > 0x7f; rest >>>= 7) bytes[next++] = (rest & 0x7f) | 0x80;
  bytes[next++] = rest;
  return next;
}

/** The places of a row. */
export function readPlaces(bytes: Uint8Array): Int32Array {
  const places = new Int32Array(bytes.length);
  let count = 0;
  let place = 0;
  for (let at = 0; at < bytes.length; ) {
    let byte = bytes[at++]!;
    let gap = byte & 0x7f;
    for (let shift = 7; byte > 0x7f; shift += 7) {
      byte = bytes[at++]!;
      gap |= (byte & 0x7f) << shift;
    }
    place += gap;
    places[count++] = place;
  }
  return places.subarray(0, count);
}
