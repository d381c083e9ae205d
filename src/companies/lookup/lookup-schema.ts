import { type Static, Type } from '@sinclair/typebox';
import { DebtsSchema, writeDebts } from '../debts/bracket.ts';
import { DETAILS_SCHEMA } from '../sources/source-types.ts';
import type { StoredCompany } from './lookup-store.ts';

export const CompanySchema = Type.Object(
  {
    nif: Type.Integer({ minimum: 0, maximum: 999_999_999, description: 'The NIF as a number.' }),
    ...DETAILS_SCHEMA,
    ...DebtsSchema,
  },
  { $id: 'Company', description: 'A text that the source does not supply is empty.' },
);

export const CompanyAnswerSchema = Type.Object(
  { result: Type.Literal('success'), data: CompanySchema },
  { $id: 'CompanyAnswer' },
);

export type Company = Static<typeof CompanySchema>;

/**
 * The company record of the specification, as JSON. The stored details are copied without parsing, because nothing in them
 * changes between two refreshes.
 */
export function writeCompany({ nif, details, debts }: StoredCompany): string {
  const members = details.slice(1, -1);
  return `{"nif":${Number(nif)},${members},${writeDebts(debts)}}`;
}
