import { createBatcher } from '../batch.ts';
import { within } from '../deadline.ts';
import type { Sql } from '../postgres/connect.ts';
import type { CompanyDetails, SourceName } from '../sources/source.ts';
import { SECOND } from '../units.ts';

/** A range of debt, as the dataset of that date has it. */
export interface Bracket {
  /** Lower amount, whole units of the dataset's currency. */
  start: number;
  /** null: open-ended. */
  end: number | null;
  /** YYYY-MM-DD */
  lastUpdated: string;
}

/** A stored company record, with the debts that are imported apart from it. */
export interface StoredCompany extends CompanyDetails {
  nif: string;
  source: SourceName;
  fetchedAt: Date;
  /** Younger than the age that was asked for, by Postgres's clock. */
  fresh: boolean;
  taxDebt: Bracket | null;
  socialSecurityDebt: Bracket | null;
}

/** Finds the stored record of a company, debts joined as they are now; null when there is none. */
export type FindCompany = (nif: string) => Promise<StoredCompany | null>;

const QUERY_TIMEOUT_MS = 2 * SECOND;
/** One query at a time: what comes meanwhile shares the next, which halves the work of each. */
const BATCHES = { maxBatch: 2000, maxRuns: 1, maxWaiting: 20_000, maxWaitMs: QUERY_TIMEOUT_MS };

interface CompanyRow extends Omit<StoredCompany, 'taxDebt' | 'socialSecurityDebt'> {
  taxStart: number | null;
  taxEnd: number | null;
  taxDate: string | null;
  socialStart: number | null;
  socialEnd: number | null;
  socialDate: string | null;
}

/**
 * A reader whose questions of one turn of the event loop share one query.
 * @param maxAgeS a record of this age or older is not fresh (specification, Data freshness)
 */
export function createCompanyReader(sql: Sql, maxAgeS: number): FindCompany {
  const ask = createBatcher(async (nifs: string[]) => {
    // A connection that is gone without a word must not keep the next batch waiting.
    const companies = await within(findCompanies(sql, nifs, maxAgeS), QUERY_TIMEOUT_MS, 'Postgres');
    return nifs.map((nif) => companies.get(nif) ?? null);
  }, BATCHES);
  return (nif) => within(ask(nif), QUERY_TIMEOUT_MS, 'Postgres');
}

/** The stored records of these NIFs, by NIF. */
export async function findCompanies(
  sql: Sql,
  nifs: string[],
  maxAgeS: number,
): Promise<Map<string, StoredCompany>> {
  const rows = await sql<CompanyRow[]>`
    SELECT c.nif, title, address, zipcode, city, activity, status, cae, nature, capital,
      capital_currency AS "capitalCurrency", source, fetched_at AS "fetchedAt",
      now() - fetched_at < ${maxAgeS}::float8 * interval '1 second' AS fresh,
      tax.start_amount AS "taxStart", tax.end_amount AS "taxEnd", tax_set.dataset_date::text AS "taxDate",
      social.start_amount AS "socialStart", social.end_amount AS "socialEnd",
      social_set.dataset_date::text AS "socialDate"
    FROM companies c
    LEFT JOIN debts tax ON tax.kind = 'tax' AND tax.nif = c.nif
    LEFT JOIN debt_datasets tax_set ON tax_set.kind = 'tax'
    LEFT JOIN debts social ON social.kind = 'social-security' AND social.nif = c.nif
    LEFT JOIN debt_datasets social_set ON social_set.kind = 'social-security'
    WHERE c.nif = ANY (${nifs}::text[])`;
  return new Map(rows.map((row) => [row.nif, storedCompany(row)]));
}

function storedCompany(row: CompanyRow): StoredCompany {
  const { taxStart, taxEnd, taxDate, socialStart, socialEnd, socialDate, ...company } = row;
  return {
    ...company,
    taxDebt: bracket(taxStart, taxEnd, taxDate),
    socialSecurityDebt: bracket(socialStart, socialEnd, socialDate),
  };
}

function bracket(start: number | null, end: number | null, date: string | null): Bracket | null {
  return start === null || date === null ? null : { start, end, lastUpdated: date };
}

/** Removes a stored record, so that the next lookup refreshes it. @returns whether there was one */
export async function forgetCompany(sql: Sql, nif: string): Promise<boolean> {
  const rows = await sql`DELETE FROM companies WHERE nif = ${nif} RETURNING 1`;
  return rows.length === 1;
}
