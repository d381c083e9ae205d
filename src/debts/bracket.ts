import { type Static, Type } from '@sinclair/typebox';
import type { DebtKind } from './kind.ts';

/** A range of debt, as the dataset of that date has it. */
interface Bracket {
  /** Lower amount, whole units of the dataset's currency. */
  start: number;
  /** `null` means open-ended. */
  end: number | null;
  /** YYYY-MM-DD */
  lastUpdated: string;
}

/** The brackets of a company; an absent one is in no dataset. */
export type Debts = { [kind in DebtKind]?: Bracket };

export const AmountsSchema = {
  start: Type.Integer({ description: 'Lower amount of the bracket.' }),
  end: Type.Union([Type.Integer(), Type.Null()], { description: 'Upper amount; null: open-ended.' }),
};

const DebtBracketSchema = Type.Object(
  {
    ...AmountsSchema,
    last_updated: Type.String({ format: 'date', description: 'Date of the source dataset.' }),
  },
  { $id: 'DebtBracket', additionalProperties: false },
);
type DebtBracket = Static<typeof DebtBracketSchema>;

const OptionalBracket = (description: string) =>
  Type.Union([DebtBracketSchema, Type.Null()], { description });

/** The members for the brackets of a company, as `writeDebts` writes them. */
export const DebtsSchema = {
  tax_debt: OptionalBracket(
    'Tax-authority debt bracket; null: none in the dataset, which does not mean no debt.',
  ),
  social_security_debt: OptionalBracket('Social-security debt bracket; null as above.'),
};

/** The members as JSON, without braces. */
export function writeDebts(debts: Debts): string {
  return `"tax_debt":${writeBracket(debts.tax)},"social_security_debt":${writeBracket(debts['social-security'])}`;
}

function writeBracket(debt: Bracket | undefined): string {
  if (debt === undefined) return 'null';
  const bracket: DebtBracket = { start: debt.start, end: debt.end, last_updated: debt.lastUpdated };
  return JSON.stringify(bracket);
}
