import { type Static, Type } from '@sinclair/typebox';
import { DebtsSchema } from '../debts/bracket.ts';
import { DETAILS_SCHEMA } from '../sources/types.ts';

export const CompanySchema = Type.Object(
  {
    nif: Type.Integer({ minimum: 0, maximum: 999_999_999, description: 'The NIF as a number.' }),
    ...DETAILS_SCHEMA,
    ...DebtsSchema,
  },
  { $id: 'Company' },
);

export const CompanyAnswerSchema = Type.Object(
  { result: Type.Literal('success'), data: CompanySchema },
  { $id: 'CompanyAnswer' },
);

export type Company = Static<typeof CompanySchema>;

/** The company of the reference's example answers. */
export const EXAMPLE_COMPANY: Company = {
  nif: 500002576,
  title: 'Empresa Exemplo Lda',
  address: 'Rua das Flores, 12',
  zipcode: '4465-671',
  city: 'Leça do Balio',
  activity: 'Programação informática',
  status: 'active',
  cae: '62010',
  structure: { nature: 'LDA', capital: '5000.00', capital_currency: 'EUR' },
  tax_debt: null,
  social_security_debt: null,
};
