import { type Static, Type } from '@sinclair/typebox';
import type { SearchEntry } from './document.ts';

const SearchEntrySchema = Type.Object(
  {
    nif: Type.String({ pattern: '^[0-9]{9}$', description: 'Nine-digit NIF.' }),
    legal_name: Type.String({ description: 'Legal name.' }),
    status: Type.Literal('', { description: 'Currently always empty.' }),
    locality: Type.Literal('', { description: 'Currently always empty.' }),
    primary_cae: Type.Literal('', { description: 'Currently always empty.' }),
  },
  { $id: 'CompanySearchEntry' },
);

export const SearchAnswerSchema = Type.Object(
  {
    data: Type.Array(SearchEntrySchema, {
      maxItems: 20,
      description: 'In the order that the endpoint has.',
    }),
    error: Type.Null(),
  },
  { $id: 'SearchAnswer' },
);

export type SearchAnswer = Static<typeof SearchAnswerSchema>;

/** The body of a search's answer, as JSON (specification, Company search entry). */
export function writeAnswer(entries: SearchEntry[]): string {
  const data = entries.map(
    ({ nif, legalName }) =>
      ({ nif, legal_name: legalName, status: '', locality: '', primary_cae: '' }) as const,
  );
  return JSON.stringify({ data, error: null } satisfies SearchAnswer);
}
