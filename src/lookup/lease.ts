import { randomUUID } from 'node:crypto';
import { within } from '../deadline.ts';
import type { Sql } from '../postgres/connect.ts';
import type { CompanyDetails, SourceName } from '../sources/source.ts';
import { MINUTE, SECOND } from '../units.ts';
import { writeDetails } from './present.ts';

/** How a refresh ended. */
export type RefreshOutcome = 'found' | 'not-found' | 'failed';

/** Where a refresh of a NIF stands: ours to do, under way elsewhere, or ended. */
export type LeaseState = { state: 'ours'; attempt: string } | OtherAttempt;

type OtherAttempt =
  | { state: 'under-way'; attempt: string }
  | { state: 'ended'; attempt: string; outcome: RefreshOutcome };

const QUERY_TIMEOUT_MS = 2 * SECOND;
/** Rows of ended attempts stay this long for those who wait for them. */
const KEEP_MS = 1 * MINUTE;

/**
 * One refresh at a time for a NIF over all instances, by a row in Postgres rather than a lock, so that no connection
 * is held while a source is asked. A lease whose process died ends by itself.
 */
export function createRefreshLeases(sql: Sql, leaseMs: number) {
  /** Takes the lease of a NIF if nobody has it; otherwise says whose attempt is under way. */
  async function acquire(nif: string): Promise<LeaseState> {
    const attempt = randomUUID();
    const taken = sql<{ attempt: string }[]>`
      INSERT INTO company_refreshes (nif, attempt, expires_at)
      VALUES (${nif}, ${attempt}, clock_timestamp() + ${leaseMs}::float8 * interval '1 millisecond')
      ON CONFLICT (nif) DO UPDATE SET
        attempt = excluded.attempt, expires_at = excluded.expires_at, outcome = NULL
      WHERE company_refreshes.outcome IS NOT NULL OR company_refreshes.expires_at <= clock_timestamp()
      RETURNING attempt`;
    const [row] = await within(taken, QUERY_TIMEOUT_MS, 'Postgres');
    if (row !== undefined) return { state: 'ours', attempt };
    return (await look(nif)) ?? acquire(nif);
  }

  /** Where the refresh of a NIF stands now; null when none is known. */
  async function look(nif: string): Promise<OtherAttempt | null> {
    const query = sql<{ attempt: string; outcome: RefreshOutcome | null; expired: boolean }[]>`
      SELECT attempt, outcome, expires_at <= clock_timestamp() AS expired
      FROM company_refreshes WHERE nif = ${nif}`;
    const [row] = await within(query, QUERY_TIMEOUT_MS, 'Postgres');
    if (row === undefined || (row.outcome === null && row.expired)) return null;
    return row.outcome === null
      ? { state: 'under-way', attempt: row.attempt }
      : { state: 'ended', attempt: row.attempt, outcome: row.outcome };
  }

  /** Ends an attempt that stored nothing. */
  async function end(nif: string, attempt: string, outcome: RefreshOutcome): Promise<void> {
    await within(
      sql`UPDATE company_refreshes SET outcome = ${outcome} WHERE nif = ${nif} AND attempt = ${attempt}`,
      QUERY_TIMEOUT_MS,
      'Postgres',
    );
  }

  /** Stores what a source said and ends the attempt, both or neither. */
  async function store(
    nif: string,
    attempt: string,
    details: CompanyDetails,
    source: SourceName,
  ): Promise<void> {
    await within(
      sql`
        WITH stored AS (
          INSERT INTO companies (nif, details, source, fetched_at)
          VALUES (${nif}, ${writeDetails(details)}::text::json, ${source}, clock_timestamp())
          ON CONFLICT (nif) DO UPDATE SET
            details = excluded.details, source = excluded.source, fetched_at = excluded.fetched_at
        )
        UPDATE company_refreshes SET outcome = 'found' WHERE nif = ${nif} AND attempt = ${attempt}`,
      QUERY_TIMEOUT_MS,
      'Postgres',
    );
  }

  /** Removes the rows of attempts that ended long ago. */
  async function sweep(): Promise<void> {
    await within(
      sql`DELETE FROM company_refreshes
        WHERE expires_at < clock_timestamp() - ${KEEP_MS}::float8 * interval '1 millisecond'`,
      QUERY_TIMEOUT_MS,
      'Postgres',
    );
  }

  return { acquire, look, end, store, sweep };
}
