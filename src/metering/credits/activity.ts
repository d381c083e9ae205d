/** The journal's entries for the activity of accounts (src/metering/activity), and the rows that the roll-up makes of them. */
import type { Trace } from '../../http/observe.ts';
import type { RowsQuery } from '../../platform/postgres/batches.ts';
import type { Sql } from '../../platform/postgres/connect.ts';

/** Between the parts of an entry, and between those of a batch; no part has one. */
const SEPARATOR = '\t';
const END = '\n';

/**
 * A call in the activity, beside its charge, as a line of a text in the batch's row of the journal: the call's id, its
 * endpoint or tool, and the caller's `X-Request-Id` if it sent one. The roll-up takes it apart.
 *
 * @returns undefined if the call has no id
 */
export function entryOf({ callId, requestId, endpoint = '' }: Trace): string | undefined {
  if (callId === undefined) return undefined;
  const entry = callId + SEPARATOR + endpoint;
  return requestId === undefined || requestId === callId ? entry : entry + SEPARATOR + requestId;
}

/** The entries of a batch as one text, because an array of them took the service and Postgres longer; `null` means none of any. */
export const entriesOf = (calls: { activity?: string | undefined }[]) =>
  calls.some(({ activity }) => activity !== undefined)
    ? calls.map(({ activity = '' }) => activity).join(END)
    : null;

/** Makes the partitions of today and tomorrow. A statement that writes activity comes after it (0006_activity.sql). */
export const makeActivityDays = (sql: Sql) => sql`SELECT make_activity_days()`;

/** SQL: the calls of a step `batch`, which has rows of the journal, each with its entry of {@link entriesOf}. */
export const callsOfBatch = (sql: Sql) => sql`
  unnest(account_ids, key_ids, kinds, batch.calls, string_to_array(batch.activity, ${END}))
    AS entry (account_id, key_id, kind, calls, activity)`;

/**
 * SQL that writes rows of activity, as a step of a statement: with the step that counts the calls both are committed or none is. The
 * statement has a step `numbers`, which took at least as many as there are rows before the statement locked any row.
 *
 * @param rows SQL for columns `account_id` and those of the type `activity_row`, of answers also `reason`. Rows of deleted accounts are left out
 */
export const writeActivity = (sql: Sql, kind: 'charge' | 'return' | 'answer', rows: RowsQuery) => {
  // Both arrays of answers in one order, also of the same instant. Charges have no reason, and spare the sort.
  const order = kind === 'answer' ? sql`(one).at, one, reason` : sql`(one).at`;
  const reasons = kind === 'answer' ? sql`array_agg(reason ORDER BY ${order})` : sql`NULL::text[]`;
  return sql`
  INSERT INTO activity_parts (account_id, kind, first, last, rows, reasons)
  SELECT account_id, ${kind}, 1 + last - cardinality(rows), last, rows, reasons
  FROM (
    SELECT account_id, (taken + sum(count(*)) OVER (ORDER BY account_id))::bigint AS last,
      array_agg(one ORDER BY ${order}) AS rows, ${reasons} AS reasons
    FROM numbers, (
      SELECT account_id COLLATE "C" AS account_id, ${kind === 'answer' ? sql`reason` : sql`NULL AS reason`},
        ROW(at, call_id, request_id, key_id, endpoint, status, problem, credits, unlisted)::activity_row AS one
      FROM (${rows}) AS row) AS row
    GROUP BY account_id, taken) AS part
  WHERE account_id IN (SELECT id FROM living_accounts(ARRAY(SELECT DISTINCT account_id FROM (${rows}) AS row)))`;
};

/**
 * SQL for {@link writeActivity} of charged or refunded calls.
 * @param calls SQL for rows of account, time of the charge, key, entry (`entryOf`) and credits. Those without an entry are left out
 */
export const callRows = (sql: Sql, calls: RowsQuery) => sql`
  SELECT account_id, at, split_part(entry, E'\t', 1)::uuid AS call_id, nullif(split_part(entry, E'\t', 3), '') AS request_id, key_id,
    nullif(split_part(entry, E'\t', 2), '') AS endpoint, NULL::smallint AS status, NULL AS problem, credits, NULL::bigint AS unlisted
  FROM (${calls}) AS call (account_id, at, key_id, entry, credits)
  WHERE entry <> ''`;
