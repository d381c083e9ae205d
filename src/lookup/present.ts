import { writeDebts } from '../debts/bracket.ts';
import type { CompanyDetails } from '../sources/types.ts';
import type { Company } from './schema.ts';
import type { StoredCompany } from './store.ts';

/** The members of the company record that come from a source. */
type Details = Omit<Company, 'nif' | 'tax_debt' | 'social_security_debt'>;

/** A source's answer in its stored form: the members of the company record, as JSON. */
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
  return `{"nif":${Number(nif)},${members},${writeDebts(debts)}}`;
}
