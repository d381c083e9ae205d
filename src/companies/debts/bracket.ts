import { type Static, type TObject, Type } from '@sinclair/typebox';
import type { DebtKind } from './kind.ts';

export const AmountsSchema = {
  start: Type.Integer({ description: 'Lower amount of the bracket, in euros.' }),
  end: Type.Union([Type.Integer(), Type.Null()], { description: 'Upper amount; `null` means open-ended.' }),
};

export type Amounts = Static<TObject<typeof AmountsSchema>>;

const DebtBracketSchema = Type.Object(
  {
    ...AmountsSchema,
    last_updated: Type.String({ format: 'date', description: 'Date of the source dataset.' }),
  },
  { $id: 'DebtBracket' },
);

/** The brackets of a company; an absent one is in no dataset. */
export type Debts = { [kind in DebtKind]?: Static<typeof DebtBracketSchema> };

const OptionalBracket = (description: string) =>
  Type.Union([DebtBracketSchema, Type.Null()], { description });

/** The members for the brackets of a company, as `writeDebts` writes them. */
export const DebtsSchema = {
  tax_debt: OptionalBracket(
    'Tax-authority debt bracket; `null` means none in the dataset, which does not mean no debt.',
  ),
  social_security_debt: OptionalBracket('Social-security debt bracket; `null` as above.'),
};

/** The members as JSON, without braces. */
export function writeDebts({ tax, 'social-security': social }: Debts): string {
  return `"tax_debt":${JSON.stringify(tax ?? null)},"social_security_debt":${JSON.stringify(social ?? null)}`;
}
