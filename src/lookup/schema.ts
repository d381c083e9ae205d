import { type Static, Type } from '@sinclair/typebox';

/** Nine digits, and the separators of normalizeNif. */
export const NIF_PATTERN = '^[ \\t\\u00a0\\u202f.-]*([0-9][ \\t\\u00a0\\u202f.-]*){9}$';

const DebtBracketSchema = Type.Object(
  {
    start: Type.Integer({ description: 'Lower amount of the bracket.' }),
    end: Type.Union([Type.Integer(), Type.Null()], { description: 'Upper amount; null: open-ended.' }),
    last_updated: Type.String({ format: 'date', description: 'Date of the source dataset.' }),
  },
  { $id: 'DebtBracket', additionalProperties: false },
);

const OptionalBracket = (description: string) =>
  Type.Union([DebtBracketSchema, Type.Null()], { description });

export const CompanySchema = Type.Object(
  {
    nif: Type.Integer({ minimum: 0, maximum: 999_999_999, description: 'The NIF as a number.' }),
    title: Type.String({ description: 'Legal name.' }),
    address: Type.String({ description: 'Address.' }),
    zipcode: Type.String({ description: 'Postal code.' }),
    city: Type.String({ description: 'City or locality.' }),
    activity: Type.String({ description: 'Activity description.' }),
    status: Type.String({ description: 'Status text of the data provider; free text.' }),
    cae: Type.String({ description: 'Primary economic activity code.' }),
    structure: Type.Object(
      {
        nature: Type.String({ description: 'Legal nature.' }),
        capital: Type.String({ description: 'Share capital, a decimal string; `0` when not supplied.' }),
        capital_currency: Type.String({ description: 'Currency of the capital; `EUR` when not supplied.' }),
      },
      { additionalProperties: false },
    ),
    tax_debt: OptionalBracket(
      'Tax-authority debt bracket; null: none in the dataset, which does not mean no debt.',
    ),
    social_security_debt: OptionalBracket('Social-security debt bracket; null as above.'),
  },
  { $id: 'Company', additionalProperties: false },
);

export const CompanyAnswerSchema = Type.Object(
  { result: Type.Literal('success'), data: CompanySchema },
  { $id: 'CompanyAnswer', additionalProperties: false },
);

export type DebtBracket = Static<typeof DebtBracketSchema>;
export type Company = Static<typeof CompanySchema>;
