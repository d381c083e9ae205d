import type { Sql } from '../postgres/connect.ts';
import type { Call } from './calls.ts';

/**
 * Voids an attempt to charge whose outcome is unknown, so that its calls cost nothing. Idempotent, and takes no account's lock.
 *
 * An attempt that was charged keeps its row, marked: the roll-up returns its credits (reverse.ts). An attempt that was not
 * charged gets an empty row: should its statement arrive later, its insert meets the key and the whole statement rolls back.
 * If the statement is running, the unique index makes this one wait for its end.
 */
export function voidAttempt(sql: Sql, attempt: string) {
  return sql`
    INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, counted, voided)
    VALUES (${attempt}, now(), '{}', '{}', '{}', '{}', true, true)
    ON CONFLICT (attempt) DO UPDATE SET voided = true`;
}

/**
 * Returns one credit of a batch: a voided batch of this one call, charged when its batch was, which the roll-up returns as any
 * other (reverse.ts). Its call counts as rolled up, because its batch is counted with all calls. Idempotent by `id`.
 *
 * A batch older than ten minutes is gone from the journal; its calls can't be given back.
 * @param id UUID of this one return
 */
export function giveBackCall(sql: Sql, id: string, call: Call, attempt: string, isPurchased: boolean) {
  const { accountId, keyId, kind } = call;
  return sql`
    INSERT INTO call_journal (attempt, at, spent_at, account_ids, key_ids, kinds, calls, purchased, counted, voided)
    SELECT ${id}::uuid, at, spent_at, ARRAY[${accountId}::text], ARRAY[${keyId}::text], ARRAY[${kind}::text], '{1}',
      jsonb_build_object(${accountId}::text, ${isPurchased ? 1 : 0}::bigint), true, true
    FROM call_journal WHERE attempt = ${attempt}
    ON CONFLICT (attempt) DO NOTHING`;
}
