import { type Static, Type } from '@sinclair/typebox';

const SearchEntrySchema = Type.Object(
  {
    nif: Type.String({ pattern: '^[0-9]{9}$', description: 'Nine-digit NIF.' }),
    legal_name: Type.String({ description: 'Legal name.' }),
    status: Type.Literal('', { description: 'Currently always empty.' }),
    locality: Type.Literal('', { description: 'Currently always empty.' }),
    primary_cae: Type.Literal('', { description: 'Currently always empty.' }),
  },
  { $id: 'CompanySearchEntry', additionalProperties: false },
);

export const SearchAnswerSchema = Type.Object(
  {
    data: Type.Array(SearchEntrySchema, {
      maxItems: 20,
      description: 'Exact matches first, then by legal name.',
    }),
    error: Type.Null(),
  },
  { $id: 'SearchAnswer', additionalProperties: false },
);

export type SearchAnswer = Static<typeof SearchAnswerSchema>;

const AFTER_NAME = '","status":"","locality":"","primary_cae":""}';

/**
 * A search entry (specification, Company search entry), as JSON.
 * @param nif nine digits
 * @param escapedName the legal name, escaped for a JSON string
 */
export function writeEntry(nif: string, escapedName: string): string {
  return `{"nif":"${nif}","legal_name":"${escapedName}${AFTER_NAME}`;
}

/** {@link writeEntry} for a name that is not JSON yet. */
export function writeNamedEntry(nif: string, legalName: string): string {
  return writeEntry(nif, JSON.stringify(legalName).slice(1, -1));
}

/** The body of a search's answer. `join` copies, so that a cached answer does not keep the text that it was cut from. */
export function writeAnswer(entries: string[]): string {
  return `{"data":[${entries.join(',')}],"error":null}`;
}
