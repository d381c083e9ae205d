import type { Sql } from '../../platform/postgres/connect.ts';
import { BATCH_TIMEOUT_MS, createBatcher, QUEUE_TIMEOUT_MS } from '../../platform/runtime/batcher.ts';
import type { Bound } from '../../platform/runtime/timeout.ts';
import type { Debts } from '../debts/bracket.ts';
import type { DebtKind } from '../debts/kind.ts';
import type { CompanyDetails, SourceName } from '../sources/source-types.ts';

/** A stored company record, with the debts that are imported apart from it. */
export interface StoredCompany {
  nif: string;
  /** A source's {@link CompanyDetails} as JSON. */
  details: string;
  source: SourceName;
  /** As Postgres writes a time in UTC: `2026-11-20 10:00:00.123+00`. */
  fetchedAt: string;
  /** Younger than the age that was asked for, by Postgres's clock. */
  fresh: boolean;
  debts: Debts;
}

/** Finds the stored record of a company, debts joined as they are now; `null` when there is none. */
export type FindCompany = (nif: string) => Promise<StoredCompany | null>;
/** Finds the stored records of several companies, by NIF. */
export type FindCompanies = (nifs: string[]) => Promise<ReadonlyMap<string, StoredCompany>>;

/** Requests for 100 companies that share a query. */
const REQUESTS_IN_A_QUERY = 5;

/**
 * @param maxAgeS a record of this age or older is not fresh (specification, Data freshness)
 * @param timeoutMs for lookups that may not take as long as Postgres
 */
export function createCompanyReader(sql: Sql, maxAgeS: number, timeoutMs = Number.POSITIVE_INFINITY) {
  const options = {
    name: 'Postgres',
    queueTimeoutMs: Math.min(QUEUE_TIMEOUT_MS, timeoutMs / 4),
    timeoutMs: Math.min(BATCH_TIMEOUT_MS, (3 * timeoutMs) / 4),
  };
  const read = async (nifs: string[], bound: Bound) =>
    companiesOf(await bound(companiesQuery(sql, nifs, maxAgeS)));
  /** Lookups of one turn of the event loop share a query. */
  const findCompany: FindCompany = createBatcher(
    async (nifs: string[], bound) => {
      const companies = await read(nifs, bound);
      return nifs.map((nif) => companies.get(nif) ?? null);
    },
    { ...options, stage: 'record' },
  );
  /** So do requests for several companies: {@link REQUESTS_IN_A_QUERY} at most. */
  const findCompanies: FindCompanies = createBatcher(
    async (requests: string[][], bound) => {
      const companies = await read(requests.flat(), bound);
      return requests.map(() => companies);
    },
    { ...options, stage: 'records', maxBatch: REQUESTS_IN_A_QUERY, maxConcurrentBatches: 2 },
  );
  return { findCompany, findCompanies };
}

/**
 * A company's record, and one of its debts or none. Arrays and the time as text take a fifth less than objects and a `Date`.
 */
type CompanyRow = [
  nif: string,
  details: string,
  source: SourceName,
  fetchedAt: string,
  fresh: boolean,
  kind: DebtKind | null,
  start: number,
  end: number | null,
  lastUpdated: string,
];

/** As a query, for callers that bound its wait. */
function companiesQuery(sql: Sql, nifs: string[], maxAgeS: number): PromiseLike<CompanyRow[]> {
  const query = sql`
    SELECT c.nif, c.details::text, c.source, c.fetched_at::text,
      c.fetched_at > (SELECT now() - ${maxAgeS}::float8 * interval '1 second'),
      debts.kind, debts.start_amount, debts.end_amount, debt_datasets.dataset_date::text
    FROM companies c
    LEFT JOIN (debts JOIN debt_datasets USING (kind)) ON debts.nif = c.nif
    WHERE c.nif = ANY (${nifs}::text[])`;
  return query.values() as unknown as PromiseLike<CompanyRow[]>;
}

const NO_DEBTS: Debts = {};

/** The companies of the rows, by NIF. */
function companiesOf(rows: CompanyRow[]): Map<string, StoredCompany> {
  const companies = new Map<string, StoredCompany>();
  for (const [nif, details, source, fetchedAt, fresh, kind, start, end, last_updated] of rows) {
    let debts = NO_DEBTS;
    if (kind !== null) debts = { ...companies.get(nif)?.debts, [kind]: { start, end, last_updated } };
    companies.set(nif, { nif, details, source, fetchedAt, fresh, debts });
  }
  return companies;
}

/** Removes a stored record, and that the NIF was not found, so that the next lookup refreshes it. @returns whether a record was stored */
export async function forgetCompany(sql: Sql, nif: string): Promise<boolean> {
  const rows = await sql`
    WITH not_found AS (DELETE FROM company_refreshes WHERE nif = ${nif} AND outcome = 'not-found')
    DELETE FROM companies WHERE nif = ${nif} RETURNING 1`;
  return rows.length === 1;
}
