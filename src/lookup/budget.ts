import type { Caller } from '../keys/authenticate.ts';
import type { Sql } from '../postgres/connect.ts';
import { withTimeout } from '../runtime/timeout.ts';
import { SECOND } from '../units.ts';

/**
 * Refreshes that an account may cause on a day (UTC) for each request a minute of its limit: 200 for the Free plan, 600
 * for Plus. The providers' quotas are shared by all accounts, and one account must not use them up.
 */
const DAILY_REFRESHES_PER_REQUEST_A_MINUTE = 10;

const QUERY_TIMEOUT_MS = 2 * SECOND;

/**
 * Takes one refresh from the account's budget of today, by Postgres's clock, for all instances together.
 * @returns whether there was one
 */
export async function takeRefresh(
  sql: Sql,
  { accountId, requestsPerMinute }: Pick<Caller, 'accountId' | 'requestsPerMinute'>,
): Promise<boolean> {
  const perDay = requestsPerMinute * DAILY_REFRESHES_PER_REQUEST_A_MINUTE;
  // Not flushed before it is answered: an account's refreshes would wait for each other's flush, one after another, and a
  // crash may lose the last few of a count.
  const taken = sql`
    WITH unflushed AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
    INSERT INTO account_refreshes AS r (account_id, day, refreshes)
    SELECT ${accountId}, current_date, 1 FROM unflushed
    ON CONFLICT (account_id) DO UPDATE SET
      day = excluded.day, refreshes = CASE WHEN r.day = excluded.day THEN r.refreshes + 1 ELSE 1 END
    WHERE r.day <> excluded.day OR r.refreshes < ${perDay}
    RETURNING 1`;
  return (await withTimeout(taken, QUERY_TIMEOUT_MS, 'Postgres')).length === 1;
}
