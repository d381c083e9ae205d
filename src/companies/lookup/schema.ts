import { type Static, Type } from '@sinclair/typebox';
import { DebtsSchema } from '../debts/bracket.ts';
import { DETAILS_SCHEMA } from '../sources/types.ts';

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
