import type { Sql } from '../../platform/postgres/connect.ts';

/**
 * Whether Postgres has answered that a statement failed, so that it was rolled back. Silence, a lost connection and `FATAL` leave the
 * outcome unknown.
 */
export const isRolledBack = (error: unknown) =>
  (error as { severity?: unknown } | null)?.severity === 'ERROR';

/**
 * Voids an attempt to charge whose outcome is unknown, so that its calls cost nothing. Idempotent, and takes no account's lock.
 *
 * An attempt that was charged keeps its row, marked: the roll-up refunds its credits. An attempt that was not charged gets an
 * empty row: should its statement arrive later, its insert meets the key and the whole statement rolls back. If the statement
 * is running, the unique index makes this one wait for its end.
 */
export function voidAttempt(sql: Sql, attempt: string) {
  return sql`
    INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, counted, owed)
    VALUES (${attempt}, now(), '{}', '{}', '{}', '{}', true, true)
    ON CONFLICT (attempt) DO UPDATE SET owed = true`;
}
