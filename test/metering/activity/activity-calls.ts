import { randomUUID } from 'node:crypto';
import { entryOf } from '../../../src/metering/credits/activity.ts';
import type { Call } from '../../../src/metering/credits/call.ts';
import { refundOwed } from '../../../src/metering/credits/refund.ts';
import { rollUpCalls } from '../../../src/metering/credits/rollup.ts';
import type { Sql } from '../../../src/platform/postgres/connect.ts';

/** A call that the activity tells of. */
export function callOf(accountId: string, more: Partial<Call> = {}): Call {
  const callId = randomUUID();
  const activity = entryOf({ callId, requestId: callId, endpoint: 'GET /companies/{nif}' });
  return { accountId, keyId: 'key_a', kind: 'lookup', credits: 1, activity, ...more };
}

/** Rolls up everything, as the service does every few seconds. */
export async function rollUpAll(sql: Sql): Promise<void> {
  await refundOwed(sql);
  while ((await rollUpCalls(sql)).rows > 0);
}

/** By account, day and key: the calls that the dashboard shows, and charges less returns of the activity. Days without any are left out. */
export async function sumsOf(sql: Sql, accountIds: string[]) {
  const read = (rows: Record<string, unknown>[]) =>
    rows.map(({ account, day, key, credits }) => `${account} ${day} ${key} ${credits}`).toSorted();
  const calls = await sql`
    SELECT account_id AS account, day::text, key_id AS key, sum(calls) AS credits FROM calls_by_day WHERE account_id = ANY (${accountIds})
    GROUP BY account_id, day, key_id HAVING sum(calls) <> 0`;
  const activity = await sql`
    SELECT account_id AS account, (at AT TIME ZONE 'UTC')::date::text AS day, key_id AS key, sum(credits) AS credits FROM activity
    WHERE account_id = ANY (${accountIds})
    GROUP BY 1, 2, 3 HAVING sum(credits) <> 0`;
  return { calls: read(calls), activity: read(activity) };
}
