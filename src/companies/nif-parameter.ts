/** A NIF in a request: its form for the reference, how it is read, and the problem of one that is not valid. */
import { Type } from '@sinclair/typebox';
import { type ProblemAnswer, problem } from '../http/answer.ts';
import { isValidNif, normalizeNif, withoutCountry } from './nif.ts';

/** Nine digits, and the separators of normalizeNif. */
export const NIF_PATTERN = '^[ \\t\\u00a0\\u202f.-]*([0-9][ \\t\\u00a0\\u202f.-]*){9}$';

/** The form of a NIF in a list, in words. */
export const NIF_FORM = `nine digits with a right check digit, as a number or a text; in a text spaces, hyphens and periods may separate them, and \`PT\` may stand before them, with or without a blank`;

/** A NIF in the input of a tool. */
export const TextNifSchema = Type.String({
  description:
    'Nine digits with a right check digit; spaces, hyphens and periods may separate them, and `PT` may stand before them, with or without a blank.',
  pattern: NIF_PATTERN.replace('^', '^\\s*(?:[Pp][Tt][ \\t\\u00a0\\u202f]?(?=[0-9]))?'),
  examples: ['599910020'],
});

/** A NIF in a list. Any text is taken, and one that is not valid gets its problem in its place. */
export const ListedNifSchema = Type.Union([
  Type.String(),
  Type.Integer({ minimum: 100_000_000, maximum: 999_999_999 }),
]);

/** A list of NIFs in the body of a request. */
export const NIF_LIST = { element: ListedNifSchema, form: NIF_FORM, example: ['599910020', '599910012'] };

/** The nine digits of a NIF in the form that a path takes; null when they are not nine, or the check digit is wrong. */
export function validNif(text: string): string | null {
  const nif = normalizeNif(text);
  return nif !== null && isValidNif(nif) ? nif : null;
}

/** The nine digits of a NIF in the form that a list, a tool or a command takes; null when they are not valid. */
export const listedNif = (text: string) => validNif(text) ?? validNif(withoutCountry(text));

/** The answer to a NIF that is not valid, by itself or in a list. */
export function invalidNif(): ProblemAnswer {
  return problem(
    'validation',
    'The NIF is not nine digits (a path takes no PT), or its check digit is wrong. A valid one is 599910020.',
    { reason: 'nif' },
  );
}
