import type { FileLayout } from '../ingest/staging.ts';

/** How a file of debt brackets is read (docs/imports.md: files). */
export const DEBTS_LAYOUT: FileLayout = {
  command: 'debts import',
  columns: ['start', 'end'],
  definition: ['start_amount bigint', 'end_amount bigint'],
  read(_nif, [startText, endText]) {
    const start = readAmount(startText ?? '');
    if (start === null) return { reason: 'start is not a whole amount' };
    const endGiven = (endText ?? '').trim();
    // Exports write an absent value as the word, too.
    if (endGiven === '' || endGiven.toLowerCase() === 'null') return { fields: `${start}\t\\N` };
    const end = readAmount(endGiven);
    if (end === null) return { reason: 'end is not a whole amount' };
    if (end < start) return { reason: 'bracket upside down' };
    return { fields: `${start}\t${end}` };
  },
};

/** SQL: the brackets of a table in the form of a file, in the order of NIFs. @param from the table, and its condition */
export const bracketsOf = (from: string): string =>
  `SELECT nif, start_amount AS start, end_amount AS end FROM ${from} ORDER BY nif`;

/** A whole amount of money in plain digits, at most 2^53 - 1; `null` if it is not one. */
function readAmount(text: string): number | null {
  const trimmed = text.trim();
  if (!/^\d{1,30}$/.test(trimmed)) return null;
  const amount = Number(trimmed);
  return Number.isSafeInteger(amount) ? amount : null;
}
