/** What the journal carries for the activity of accounts (src/metering/activity), and the rows that the roll-up makes of it. */
import type { Trace } from '../../http/observe.ts';
import type { RowsQuery } from '../../platform/postgres/batches.ts';
import type { Sql } from '../../platform/postgres/connect.ts';

/** Between the parts of an entry; no part has one. */
const SEPARATOR = '\t';

/**
 * What the activity tells of a call beside its charge, as one text in the batch's row of the journal: the call's id, its endpoint
 * or tool, and the caller's `X-Request-Id` if it sent one. `writeCalls` takes it apart.
 *
 * @returns undefined if the call has no id
 */
export function entryOf({ callId, requestId, endpoint = '' }: Trace): string | undefined {
  if (callId === undefined) return undefined;
  const parts = [callId, endpoint];
  if (requestId !== undefined && requestId !== callId) parts.push(requestId);
  return parts.join(SEPARATOR);
}

/**
 * SQL that writes charges or returns, as a part of the statement that counts them, so that both are committed or none is. The
 * statement has a step `numbers`, which took at least as many as there are rows before the statement locked any row.
 *
 * @param calls SQL for rows of account, time of the charge, key, entry (`entryOf`) and credits. Rows without an entry are left out
 */
export function writeCalls(sql: Sql, kind: 'charge' | 'return', calls: RowsQuery) {
  return sql`
    INSERT INTO activity (number, account_id, kind, at, call_id, request_id, key_id, endpoint, credits)
    SELECT taken + row_number() OVER (ORDER BY at), account_id, ${kind}, at, split_part(entry, E'\t', 1)::uuid,
      nullif(split_part(entry, E'\t', 3), ''), key_id, nullif(split_part(entry, E'\t', 2), ''), credits
    FROM numbers, (${calls}) AS call (account_id, at, key_id, entry, credits)
    WHERE entry IS NOT NULL AND account_id IN (
      SELECT id FROM living_accounts(ARRAY(SELECT DISTINCT account_id FROM (${calls}) AS call (account_id, at, key_id, entry, credits))))
    ORDER BY account_id COLLATE "C", at`;
}
