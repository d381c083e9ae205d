import type { CompanyDetails } from '../sources/types.ts';
import type { Company, DebtBracket } from './schema.ts';
import type { Bracket, StoredCompany } from './store.ts';

/** The members of the company record that come from a source. */
type Details = Omit<Company, 'nif' | 'tax_debt' | 'social_security_debt'>;

/** What a source said as it is stored, and answered: the members of the company record, as JSON. */
export function writeDetails(details: CompanyDetails): string {
  const { title, address, zipcode, city, activity, status, cae, nature, capital, capitalCurrency } = details;
  const written: Details = {
    title,
    address,
    zipcode,
    city,
    activity,
    status,
    cae,
    structure: { nature, capital, capital_currency: capitalCurrency },
  };
  return JSON.stringify(written);
}

/**
 * The company record of the specification, as JSON. The stored details are copied without parsing, because nothing in them
 * changes between two refreshes.
 */
export function writeCompany({ nif, details, debts }: StoredCompany): string {
  const members = details.slice(1, -1);
  const tax = writeBracket(debts.tax);
  const socialSecurity = writeBracket(debts['social-security']);
  return `{"nif":${Number(nif)},${members},"tax_debt":${tax},"social_security_debt":${socialSecurity}}`;
}

function writeBracket(debt: Bracket | undefined): string {
  if (debt === undefined) return 'null';
  const bracket: DebtBracket = { start: debt.start, end: debt.end, last_updated: debt.lastUpdated };
  return JSON.stringify(bracket);
}
