import { isValidNif, normalizeNif } from '../../companies/nif.ts';

/** Nine digits in one, or three groups of three. No digit stands beside them. dashboard.js has the same for files. */
const NUMBERS = /(?<!\d|\d[.-])\d{3}(?:\d{6}|[ \u00a0\u202f.-]\d{3}[ \u00a0\u202f.-]\d{3})(?!\d)/g;

/** The NIFs of a text that a member has pasted: a list, or rows of a table with whatever else is in them. */
export interface NifList {
  /** Each once, in the order of the text. */
  nifs: string[];
  /** Numbers of nine digits with a wrong check digit, each once. They would be charged, and are left out. */
  wrong: string[];
  repeated: number;
}

export function readNifList(text: string): NifList {
  const numbers = [...text.matchAll(NUMBERS)].map(([number]) => normalizeNif(number)!);
  const distinct = [...new Set(numbers)];
  return {
    nifs: distinct.filter(isValidNif),
    wrong: distinct.filter((number) => !isValidNif(number)),
    repeated: numbers.length - distinct.length,
  };
}
