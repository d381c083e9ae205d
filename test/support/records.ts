import type { CompanyDetails } from '../../src/companies/sources/source-types.ts';
import type { Sql } from '../../src/platform/postgres/connect.ts';

/** Details without any value (specification, Resources). */
export const NO_DETAILS: CompanyDetails = {
  title: '',
  address: '',
  zipcode: '',
  city: '',
  activity: '',
  status: '',
  cae: '',
  structure: { nature: '', capital: '0', capital_currency: 'EUR' },
};

/** Stores a company's record as a refresh would have, so that no source is asked while it is fresh. */
export async function storeRecord(
  sql: Sql,
  nif: string,
  title: string,
  fetchedAt: Date = new Date(),
): Promise<void> {
  const details = JSON.stringify({
    title,
    address: 'Rua A',
    zipcode: '1000-001',
    city: 'Lisboa',
    activity: '',
    status: 'active',
    cae: '62010',
    structure: { nature: 'LDA', capital: '5000.00', capital_currency: 'EUR' },
  } satisfies CompanyDetails);
  await sql`
    INSERT INTO companies (nif, details, source, fetched_at)
    VALUES (${nif}, ${details}::text::json, 'nif.pt', ${fetchedAt})
    ON CONFLICT (nif) DO UPDATE SET details = excluded.details, fetched_at = excluded.fetched_at`;
}

/** Sets the age of a stored record. */
export async function setAge(sql: Sql, nif: string, ageS: number): Promise<void> {
  await sql`UPDATE companies SET fetched_at = now() - ${ageS}::float8 * interval '1 second' WHERE nif = ${nif}`;
}

export const DAY_S = 86_400;
