import { randomUUID } from 'node:crypto';
import type { Sql } from '../postgres/connect.ts';
import { withTimeout } from '../runtime/timeout.ts';
import type { CompanyDetails, SourceName } from '../sources/types.ts';
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
/** A definite "no such company" answers for this long without a further question to a source (contract: not found). */
const NOT_FOUND_MS = 5 * MINUTE;

/**
 * One refresh at a time for a NIF over all instances, by a row in Postgres rather than a lock, so that no connection
 * is held while a source is asked. A lease whose process died ends by itself.
 *
 * A statement that was given up may still be stuck on its connection, and run when others have gone on: each asks for
 * the attempt that it belongs to, and for its being under way.
 */
export function createRefreshLeases(sql: Sql, leaseMs: number) {
  /** Takes the lease of a NIF if nobody has it and it was not found lately; otherwise says how the other attempt stands. */
  async function acquire(nif: string): Promise<LeaseState> {
    const attempt = randomUUID();
    const taken = sql<{ attempt: string }[]>`
      INSERT INTO company_refreshes (nif, attempt, expires_at)
      VALUES (${nif}, ${attempt}, clock_timestamp() + ${leaseMs}::float8 * interval '1 millisecond')
      ON CONFLICT (nif) DO UPDATE SET
        attempt = excluded.attempt, expires_at = excluded.expires_at, outcome = NULL
      WHERE company_refreshes.outcome <> 'not-found' OR company_refreshes.expires_at <= clock_timestamp()
      RETURNING attempt`;
    const [row] = await withTimeout(taken, QUERY_TIMEOUT_MS, 'Postgres').catch((error) => {
      // The INSERT may still succeed after we stop waiting. Release the lease then, or others would follow a refresh that
      // never runs.
      const giveBack = () => withdraw(nif, attempt).catch(() => {}); // the lease runs out by itself
      taken.then(giveBack, giveBack);
      throw error;
    });
    if (row !== undefined) return { state: 'ours', attempt };
    return (await look(nif)) ?? acquire(nif);
  }

  /** Where the refresh of a NIF stands now; null when none is known. */
  async function look(nif: string): Promise<OtherAttempt | null> {
    const query = sql<{ attempt: string; outcome: RefreshOutcome | null; expired: boolean }[]>`
      SELECT attempt, outcome, expires_at <= clock_timestamp() AS expired
      FROM company_refreshes WHERE nif = ${nif}`;
    const [row] = await withTimeout(query, QUERY_TIMEOUT_MS, 'Postgres');
    if (row === undefined || (row.outcome === null && row.expired)) return null;
    return row.outcome === null
      ? { state: 'under-way', attempt: row.attempt }
      : { state: 'ended', attempt: row.attempt, outcome: row.outcome };
  }

  /** Removes a lease as if it had never been taken: its followers start a refresh of their own. */
  async function withdraw(nif: string, attempt: string): Promise<void> {
    await withTimeout(
      sql`DELETE FROM company_refreshes WHERE nif = ${nif} AND attempt = ${attempt} AND outcome IS NULL`,
      QUERY_TIMEOUT_MS,
      'Postgres',
    );
  }

  /** Ends an attempt that stored nothing; `not-found` is remembered. One that has ended stays as it is. */
  async function end(nif: string, attempt: string, outcome: RefreshOutcome): Promise<void> {
    await withTimeout(
      sql`
        UPDATE company_refreshes SET outcome = ${outcome}, expires_at = CASE WHEN ${outcome === 'not-found'}
          THEN clock_timestamp() + ${NOT_FOUND_MS}::float8 * interval '1 millisecond' ELSE expires_at END
        WHERE nif = ${nif} AND attempt = ${attempt} AND outcome IS NULL`,
      QUERY_TIMEOUT_MS,
      'Postgres',
    );
  }

  /**
   * Stores what a source said and ends the attempt, both or neither: when the lease has run out, another attempt may
   * have stored a newer record, or an operator may have removed it.
   *
   * @returns whether the lease was still ours, and so whether it is stored
   */
  async function store(
    nif: string,
    attempt: string,
    details: CompanyDetails,
    source: SourceName,
  ): Promise<boolean> {
    const stored = sql`
      WITH owned AS (
        UPDATE company_refreshes SET outcome = 'found'
        WHERE nif = ${nif} AND attempt = ${attempt} AND outcome IS NULL AND expires_at > clock_timestamp()
        RETURNING nif
      )
      INSERT INTO companies (nif, details, source, fetched_at)
      SELECT nif, ${writeDetails(details)}::text::json, ${source}, clock_timestamp() FROM owned
      ON CONFLICT (nif) DO UPDATE SET
        details = excluded.details, source = excluded.source, fetched_at = excluded.fetched_at
      RETURNING 1`;
    return (await withTimeout(stored, QUERY_TIMEOUT_MS, 'Postgres')).length === 1;
  }

  /** Removes the rows of attempts that ended long ago. */
  async function sweep(): Promise<void> {
    await withTimeout(
      sql`DELETE FROM company_refreshes
        WHERE expires_at < clock_timestamp() - ${KEEP_MS}::float8 * interval '1 millisecond'`,
      QUERY_TIMEOUT_MS,
      'Postgres',
    );
  }

  return { acquire, look, withdraw, end, store, sweep };
}
