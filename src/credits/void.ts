import { textArray } from '../postgres/arrays.ts';
import type { Sql } from '../postgres/connect.ts';

/** A void or a returned call that Postgres did not acknowledge is sent again after this pause. */
export const RETRY_AFTER_MS = 250;

/**
 * Voids attempts to charge whose outcome is unknown, so that their calls cost nothing. Idempotent, and takes no account's lock.
 *
 * An attempt that was charged keeps its row, marked: the roll-up returns its credits (reverse.ts). An attempt that was not
 * charged gets an empty row: should its statement arrive later, its insert meets the key and the whole statement rolls back.
 * If the statement is running, the unique index makes this one wait for its end.
 */
export async function voidAttempts(sql: Sql, attempts: string[]): Promise<void> {
  await sql`
    INSERT INTO call_journal AS charged (attempt, at, account_ids, key_ids, kinds, calls, counted, voided)
    SELECT attempt, now(), '{}', '{}', '{}', '{}', true, true FROM unnest(${textArray(attempts)}::uuid[]) AS attempt
    ON CONFLICT (attempt) DO UPDATE SET voided = true`;
}
