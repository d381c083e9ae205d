import type { DebtKind } from '../debts/import.ts';
import { textArray } from '../postgres/arrays.ts';
import type { Sql } from '../postgres/connect.ts';
import { BATCH_TIMEOUT_MS, createBatcher, QUEUE_TIMEOUT_MS } from '../runtime/batch.ts';
import { cancelUnsent } from '../runtime/timeout.ts';
import type { SourceName } from '../sources/types.ts';

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
export interface StoredCompany {
  nif: string;
  /** As `writeDetails` (present.ts) wrote them. */
  details: string;
  source: SourceName;
  fetchedAt: Date;
  /** Younger than the age that was asked for, by Postgres's clock. */
  fresh: boolean;
  debts: { [kind in DebtKind]?: Bracket };
}

/** Finds the stored record of a company, debts joined as they are now; null when there is none. */
export type FindCompany = (nif: string) => Promise<StoredCompany | null>;

/** A company's record, and one of its debts or none. */
type CompanyRow = Omit<StoredCompany, 'debts'> & ({ kind: null } | ({ kind: DebtKind } & Bracket));

/**
 * A reader whose questions of one turn of the event loop share one query.
 * @param maxAgeS a record of this age or older is not fresh (specification, Data freshness)
 * @param timeoutMs where a lookup may not take as long as Postgres
 */
export function createCompanyReader(
  sql: Sql,
  maxAgeS: number,
  timeoutMs = Number.POSITIVE_INFINITY,
): FindCompany {
  return createBatcher(
    async (nifs: string[], signal) => {
      const rows = await cancelUnsent(companiesQuery(sql, nifs, maxAgeS), signal);
      const companies = companiesOf(rows);
      return nifs.map((nif) => companies.get(nif) ?? null);
    },
    {
      name: 'Postgres',
      stage: 'record',
      queueTimeoutMs: Math.min(QUEUE_TIMEOUT_MS, timeoutMs / 4),
      batchTimeoutMs: Math.min(BATCH_TIMEOUT_MS, (3 * timeoutMs) / 4),
    },
  );
}

/** The stored records of these NIFs, by NIF. */
export async function findCompanies(
  sql: Sql,
  nifs: string[],
  maxAgeS: number,
): Promise<Map<string, StoredCompany>> {
  return companiesOf(await companiesQuery(sql, nifs, maxAgeS));
}

/** {@link findCompanies} as a query, for callers that bound its wait. */
function companiesQuery(sql: Sql, nifs: string[], maxAgeS: number) {
  return sql<CompanyRow[]>`
    SELECT c.nif, c.details::text AS details, c.source, c.fetched_at AS "fetchedAt",
      now() - c.fetched_at < ${maxAgeS}::float8 * interval '1 second' AS fresh,
      debts.kind, debts.start_amount AS start, debts.end_amount AS end,
      debt_datasets.dataset_date::text AS "lastUpdated"
    FROM companies c
    LEFT JOIN (debts JOIN debt_datasets USING (kind)) ON debts.nif = c.nif
    WHERE c.nif = ANY (${textArray(nifs)}::text[])`;
}

function companiesOf(rows: CompanyRow[]): Map<string, StoredCompany> {
  const companies = new Map<string, StoredCompany>();
  for (const row of rows) {
    const { nif, details, source, fetchedAt, fresh } = row;
    let company = companies.get(nif);
    if (company === undefined) {
      company = { nif, details, source, fetchedAt, fresh, debts: {} };
      companies.set(nif, company);
    }
    if (row.kind !== null) {
      company.debts[row.kind] = { start: row.start, end: row.end, lastUpdated: row.lastUpdated };
    }
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
