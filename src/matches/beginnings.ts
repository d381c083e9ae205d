/** The tree of the beginnings of words, while their lists are written (word-lists.ts). */
import {
  LONGEST_DIVIDED,
  PLACE_BYTES,
  RARE_ROW_BYTES,
  ROW_BYTES,
  UNDIVIDED,
  writePlace,
} from './word-lists.ts';

/** The end of a word. */
export const BLANK = 0x20;
const ASCII = 128;

/** A beginning that is divided, or one character longer than such a one. */
export class Beginning {
  /** The last place in the list. */
  last = -1;
  /** The row that is being written. */
  bytes = new Uint8Array(16);
  length = 0;
  /** Beginnings that are one character longer, by its code; `null` if this one is not divided. */
  #ascii: (Beginning | undefined)[] | null = null;
  #others: Map<number, Beginning> | null = null;

  private constructor(
    readonly text: string,
    readonly rowBytes: number,
  ) {}

  /** The tree in which these beginnings are divided. Each comes after the shorter beginnings that it starts with. */
  static createTree(divided: Iterable<string>): Beginning {
    const root = new Beginning('', ROW_BYTES);
    root.#divide();
    for (const text of divided) {
      let beginning = root;
      for (const character of text) {
        const code = character.codePointAt(0)!;
        beginning = beginning.#child(code) ?? beginning.#add(code, ROW_BYTES);
      }
      beginning.#divide();
    }
    return root;
  }

  get isDivided(): boolean {
    return this.#ascii !== null;
  }

  /** Of its list. */
  get key(): string {
    return this.isDivided || this.text.endsWith(' ') ? this.text : this.text + UNDIVIDED;
  }

  /** The beginning that is one character longer than a divided one. @param code the character's; {@link BLANK} ends the word */
  next(code: number): Beginning {
    return this.#child(code) ?? this.#add(code, code === BLANK ? ROW_BYTES : RARE_ROW_BYTES);
  }

  /** Adds a place to the row. @returns whether the row is full */
  add(place: number): boolean {
    if (this.last === place) return false; // another word of the name begins alike
    if (this.length + PLACE_BYTES > this.bytes.length) {
      const larger = new Uint8Array(2 * this.bytes.length);
      larger.set(this.bytes);
      this.bytes = larger;
    }
    this.length = writePlace(this.bytes, this.length, this.length === 0 ? place : place - this.last);
    this.last = place;
    return this.length > this.rowBytes - PLACE_BYTES;
  }

  /** All beginnings below this one. */
  *all(): Generator<Beginning> {
    for (const child of [...(this.#ascii ?? []), ...(this.#others?.values() ?? [])]) {
      if (child === undefined) continue;
      yield child;
      yield* child.all();
    }
  }

  #divide(): void {
    this.#ascii ??= new Array<Beginning | undefined>(ASCII).fill(undefined);
  }

  #child(code: number): Beginning | undefined {
    return code < ASCII ? this.#ascii![code] : this.#others?.get(code);
  }

  #add(code: number, rowBytes: number): Beginning {
    const child = new Beginning(this.text + String.fromCodePoint(code), rowBytes);
    if (code < ASCII) this.#ascii![code] = child;
    else {
      this.#others ??= new Map();
      this.#others.set(code, child);
    }
    return child;
  }
}

/**
 * The beginnings that over `dividedFrom` names have, as some of the names say, in the order of their length.
 * @param share the names' share of all names, 0 to 1
 */
export function frequentBeginnings(names: Iterable<string>, share: number, dividedFrom: number): string[] {
  const words = new Map<string, number>();
  for (const name of names) {
    for (const word of new Set(name.split(' '))) words.set(word, (words.get(word) ?? 0) + 1);
  }
  const beginnings = new Map<string, number>();
  for (const [word, count] of words) {
    const characters = [...word].slice(0, LONGEST_DIVIDED);
    for (let length = 1; length <= characters.length; length += 1) {
      const beginning = characters.slice(0, length).join('');
      beginnings.set(beginning, (beginnings.get(beginning) ?? 0) + count);
    }
  }
  return [...beginnings]
    .filter(([, count]) => count > dividedFrom * share)
    .map(([beginning]) => beginning)
    .sort((a, b) => a.length - b.length);
}
