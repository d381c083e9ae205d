import { isLockTimeout, type Sql } from '../../platform/postgres/connect.ts';
import { quoted } from '../../platform/postgres/identifier.ts';

/** Writers and readers of the activity wait behind a removal for no longer than this. */
const DROP_LOCK_TIMEOUT_MS = 100;

/**
 * Removes the activity of days (UTC) that ended over `days` days ago, a whole day at a time. First it records how far rows are
 * removed, so that no reader sees some of them. A day whose table a session reads, such as a backup, is dropped the next time.
 */
export async function purgeActivity(sql: Sql, days: number): Promise<void> {
  // The cursor of a reader that has read all does not expire, also if nothing is written for long.
  await sql`
    UPDATE activity_numbers SET last = greatest(last, activity_number(clock_timestamp())), removed = greatest(removed, oldest)
    FROM (SELECT activity_number(date_trunc('day', now(), 'UTC') - ${days} * interval '1 day') AS oldest) AS kept`;
  const old = await sql<{ partition: string }[]>`
    SELECT relname AS partition FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
    WHERE inhparent = 'activity_parts'::regclass AND activity_number((right(relname, 8)::date + 1) AT TIME ZONE 'UTC')
      <= (SELECT removed FROM activity_numbers)
    ORDER BY relname`;
  for (const { partition } of old) {
    const dropping = sql.begin(async (transaction) => {
      await transaction.unsafe(`SET LOCAL lock_timeout = ${DROP_LOCK_TIMEOUT_MS}`);
      // Another process may have dropped it.
      await transaction.unsafe(`DROP TABLE IF EXISTS ${quoted(partition)}`);
    });
    await dropping.catch((error) => {
      if (!isLockTimeout(error)) throw error;
    });
  }
}
