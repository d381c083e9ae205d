import { RefusedError } from '../../platform/errors.ts';
import { only } from '../../platform/postgres/answer.ts';
import { isLockTimeout, type Sql, type Transaction } from '../../platform/postgres/connect.ts';
import { SECOND } from '../../platform/units.ts';
import { lockAccount } from '../accounts/account-store.ts';
import { type Actor, recordEvent } from '../accounts/events.ts';
import { lockBalance } from '../accounts/locked.ts';
import { lockKey, refuseBudgetOf } from './key-store.ts';
import {
  type Budget,
  type GivenLimits,
  inOrder,
  limitColumns,
  limitDetail,
  type PresentLimits,
} from './limits.ts';

/**
 * Changes the limits of a key (docs/commands.md). A limit that is not given stays.
 *
 * A change of a budget is exact at once. It counts what the key has spent in the window, also before it had a budget. A first budget,
 * rights and a share of the rate are in force within 5 seconds, because callers are cached.
 *
 * @throws RefusedError for an unknown or revoked key, or a budget of a test key
 */
export async function limitKey(
  sql: Sql,
  id: string,
  { budget, only, requests_per_minute }: GivenLimits,
  actor: Actor,
): Promise<{ id: string } & PresentLimits> {
  return sql.begin(async (sql) => {
    const key = await lockKey(sql, id);
    await lockAccount(sql, key.accountId);
    if (key.revoked !== null) throw new RefusedError(`the key ${id} is revoked: create another one`);
    refuseBudgetOf(key, budget);
    const before = await readLimits(sql, id);
    if (budget !== undefined) await setBudget(sql, { id, ...key }, budget);
    if (only !== undefined)
      await sql`UPDATE api_keys SET rights = ${only && inOrder(only)}::text[] WHERE id = ${id}`;
    // A connection takes tokens of the bucket of all connections from then on. One that was made before version 0.2.0 does not until then.
    if (requests_per_minute !== undefined)
      await sql`
        UPDATE api_keys SET requests_per_minute = ${requests_per_minute}, shares_rate = is_connection WHERE id = ${id}`;
    const after = await readLimits(sql, id);
    const detail = limitDetail(after);
    if (!Bun.deepEquals(detail, limitDetail(before)))
      await recordEvent(sql, key.accountId, { kind: 'key-limited', actor, detail: { key: id, ...detail } });
    return { id, ...after };
  });
}

async function readLimits(sql: Transaction, id: string): Promise<PresentLimits> {
  return only(await sql<PresentLimits[]>`SELECT ${limitColumns(sql)} FROM api_keys WHERE id = ${id}`);
}

/**
 * Sets or removes the budget of a key.
 *
 * The account's balance is locked, as a charge does before the budget. So no charge of the account is under way while the calls of the
 * window are counted, and refunds of these calls are known by `period_opened_at`. Calls that began before a first budget are charged
 * without it: they are counted once no such call is under way any more ({@link settleBudgets}).
 */
async function setBudget(sql: Transaction, key: BudgetedKey, budget: Budget | null): Promise<void> {
  if (budget === null) {
    await sql`UPDATE counters SET included_credits = NULL WHERE id = ${key.id}`;
    return;
  }
  await sql`
    UPDATE counters SET per = ${budget.per}, included_credits = ${budget.credits},
      period_start = CASE WHEN per = ${budget.per} THEN period_start ELSE '-infinity' END,
      settles_at = CASE WHEN included_credits IS NULL THEN clock_timestamp() + ${SETTLE_MS}::float8 * interval '1 millisecond' ELSE settles_at END
    WHERE id = ${key.id}`;
  await countSpent(sql, key);
}

/** Counts first budgets once more, with the calls that did not know them. Idempotent; a locked account waits for the next time. */
export async function settleBudgets(sql: Sql): Promise<void> {
  const due = await sql<BudgetedKey[]>`
    SELECT id, account_id AS "accountId" FROM counters JOIN api_keys USING (id) WHERE settles_at < now()`;
  for (const key of due)
    await sql
      .begin(async (sql) => {
        await lockBalance(sql, key.accountId);
        await sql`UPDATE counters SET settles_at = NULL WHERE id = ${key.id}`;
        await countSpent(sql, key);
      })
      .catch((error) => {
        if (!isLockTimeout(error)) throw error;
      });
}

interface BudgetedKey {
  id: string;
  accountId: string;
}

/** A call is charged this long after its key was looked up, at most: the cache of callers 4 s, a claim 20, its list's turn 3 and reads 8, the charge 4 with the question before it. */
const SETTLE_MS = 40 * SECOND;

/** Sets what a key has spent in the present window of its budget. The balance is locked. */
const countSpent = (sql: Transaction, { id, accountId }: BudgetedKey) => sql`
  UPDATE counters SET period_start = present, period_opened_at = clock_timestamp(), used = coalesce((
    SELECT sum(calls) FROM calls_by_day
    WHERE account_id = ${accountId} AND key_id = ${id} AND day >= (present AT TIME ZONE 'UTC')::date), 0)
  FROM (SELECT greatest(budget_window(per, clock_timestamp()), period_start) AS present FROM counters WHERE id = ${id}) AS budget
  WHERE id = ${id}`;
