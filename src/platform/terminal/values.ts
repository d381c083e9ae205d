import { InvalidArgumentError } from 'commander';
import { isRealDate } from '../dates.ts';
import { isName } from '../names.ts';

/** Reads an option's whole number; anything else is wrong usage. */
export function wholeNumber({ min, max }: { min: number; max: number }): (text: string) => number {
  return (text) => {
    const number = /^(?!-0)-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

/** Reads an option that has a word for "no limit" or "as the plan". */
export const orWord =
  <T, Word extends string>(word: Word, read: (text: string) => T) =>
  (text: string): T | Word =>
    text === word ? word : read(text);

const INSTANT =
  /^(\d{4}-\d{2}-\d{2})[Tt ]((?:[01]\d|2[0-3])(?::[0-5]\d){2}(?:\.\d+)?)([Zz]|[+-]\d{2}:\d{2})$/;

/**
 * Reads an RFC 3339 instant, e.g. `2026-01-31T00:00:00Z`. Wrong usage are a day that its month doesn't have, a leap second, and an
 * instant outside the years 1 to 9999 in UTC, because Postgres has no year 0, and JSON no year 10000.
 */
export function instant(text: string): Date {
  const [, day, time, zone] = INSTANT.exec(text) ?? [];
  if (day !== undefined && isRealDate(day)) {
    const date = new Date(`${day}T${time}${zone!.toUpperCase()}`);
    // The year of an invalid date is NaN.
    const year = date.getUTCFullYear();
    if (year >= 1 && year <= 9999) return date;
  }
  throw new InvalidArgumentError('It must be an RFC 3339 instant, as 2026-01-31T00:00:00Z.');
}

/** Reads a name, or anything else that follows its rule. */
export function name(text: string): string {
  const trimmed = text.trim();
  if (isName(trimmed)) return trimmed;
  throw new InvalidArgumentError(
    'It must have 1 to 200 characters, none of them control or format characters.',
  );
}

/** Reads the path of a file. */
export function filePath(text: string): string {
  if (text.trim() !== '') return text;
  throw new InvalidArgumentError('It must name a file.');
}
