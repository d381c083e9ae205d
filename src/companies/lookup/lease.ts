import { randomUUID } from 'node:crypto';
import { answerOf, READS } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { createBatcher } from '../../platform/runtime/batcher.ts';
import { MINUTE } from '../../platform/units.ts';
import type { CompanyDetails, SourceName } from '../sources/source-types.ts';

export type RefreshOutcome = 'found' | 'not-found' | 'failed';

/** Rows of ended attempts stay this long for their followers. */
const KEEP_MS = 1 * MINUTE;
/** A definite "no such company" is answered for this long without asking a source (docs/api.md: not found). */
const NOT_FOUND_MS = 5 * MINUTE;

/**
 * One refresh runs at a time for a NIF over all instances. Its lease is a row in Postgres and not a lock, so that no connection
 * is held while a source is asked. The lease of a dead process expires.
 *
 * A statement that timed out may run later, after another attempt has begun. So each statement names its attempt, and changes it
 * only while it runs.
 */
export function createRefreshLeases(sql: Sql, leaseMs: number) {
  /**
   * Takes the lease of a NIF.
   * @returns the attempt; `null` if another one has the lease, or the NIF was "not found" lately
   */
  async function acquire(nif: string): Promise<string | null> {
    const attempt = randomUUID();
    const taken = sql<{ attempt: string }[]>`
      INSERT INTO company_refreshes (nif, attempt, expires_at)
      VALUES (${nif}, ${attempt}, clock_timestamp() + ${leaseMs}::float8 * interval '1 millisecond')
      ON CONFLICT (nif) DO UPDATE SET
        attempt = excluded.attempt, expires_at = excluded.expires_at, outcome = NULL
      WHERE company_refreshes.outcome <> 'not-found' OR company_refreshes.expires_at <= clock_timestamp()
      RETURNING attempt`;
    const [row] = await answerOf(taken).catch((error) => {
      // The INSERT may still succeed after we stop waiting. Release the lease then, or others would follow a refresh that
      // never runs.
      const releaseLater = () => release(nif, attempt).catch(() => {}); // the lease expires
      taken.then(releaseLater, releaseLater);
      throw error;
    });
    return row?.attempt ?? null;
  }

  /** The state of the present attempt of a NIF; `null` if there is none. */
  async function read(nif: string): Promise<RefreshOutcome | 'under-way' | null> {
    const query = sql<{ state: RefreshOutcome | 'under-way' }[]>`
      SELECT coalesce(outcome, 'under-way') AS state FROM company_refreshes
      WHERE nif = ${nif} AND (outcome IS NOT NULL OR expires_at > clock_timestamp())`;
    const [row] = await answerOf(query);
    return row?.state ?? null;
  }

  /** Whether a lookup of a NIF now follows a refresh under way, or is "not found", instead of beginning a refresh. */
  const isHeld: (nif: string) => Promise<boolean> = createBatcher(async (nifs: string[], bound) => {
    const rows = await bound(sql<{ nif: string }[]>`
        SELECT nif FROM company_refreshes
        WHERE nif = ANY (${nifs}::text[]) AND coalesce(outcome, 'not-found') = 'not-found' AND expires_at > clock_timestamp()`);
    const held = new Set(rows.map(({ nif }) => nif));
    return nifs.map((nif) => held.has(nif));
  }, READS);

  /** Removes a lease as if it had never been taken, so that its followers start their own refresh. */
  async function release(nif: string, attempt: string): Promise<void> {
    await answerOf(sql`
      DELETE FROM company_refreshes WHERE nif = ${nif} AND attempt = ${attempt} AND outcome IS NULL`);
  }

  /** Ends a running attempt without a record; `not-found` is remembered. An ended attempt does not change. */
  async function complete(nif: string, attempt: string, outcome: RefreshOutcome): Promise<void> {
    await answerOf(sql`
      UPDATE company_refreshes SET outcome = ${outcome}, expires_at = CASE WHEN ${outcome === 'not-found'}
        THEN clock_timestamp() + ${NOT_FOUND_MS}::float8 * interval '1 millisecond' ELSE expires_at END
      WHERE nif = ${nif} AND attempt = ${attempt} AND outcome IS NULL`);
  }

  /**
   * Stores a source's record and ends the attempt, or does neither if the lease has expired. Then another attempt may have
   * stored a newer record, or an operator may have removed it.
   *
   * @returns whether it was stored
   */
  async function completeWithRecord(
    nif: string,
    attempt: string,
    details: CompanyDetails,
    source: SourceName,
  ): Promise<boolean> {
    const rows = await answerOf(sql`
      WITH owned AS (
        UPDATE company_refreshes SET outcome = 'found'
        WHERE nif = ${nif} AND attempt = ${attempt} AND outcome IS NULL AND expires_at > clock_timestamp()
        RETURNING nif
      )
      INSERT INTO companies (nif, details, source, fetched_at)
      SELECT nif, ${JSON.stringify(details)}::text::json, ${source}, clock_timestamp() FROM owned
      ON CONFLICT (nif) DO UPDATE SET
        details = excluded.details, source = excluded.source, fetched_at = excluded.fetched_at
      RETURNING 1`);
    return rows.length === 1;
  }

  /** Removes the rows of attempts that ended long ago. */
  async function sweep(): Promise<void> {
    await answerOf(sql`
      DELETE FROM company_refreshes
      WHERE expires_at < clock_timestamp() - ${KEEP_MS}::float8 * interval '1 millisecond'`);
  }

  return { acquire, read, isHeld, release, complete, completeWithRecord, sweep };
}
