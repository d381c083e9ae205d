import { afterAll } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { entryOf } from '../../../src/metering/credits/activity.ts';
import type { Call, Charge, Quota } from '../../../src/metering/credits/call.ts';
import { type Credits, createCredits } from '../../../src/metering/credits/charge.ts';
import { refundOwed, voidAttempt } from '../../../src/metering/credits/refund.ts';
import { rollUpCalls } from '../../../src/metering/credits/rollup.ts';
import { connectPostgres, type Sql } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';
import { startProxy } from '../../support/proxy.ts';

/**
 * A database of its own with the ledgers of two instances, whose pools plan as the service's do, and a pool whose waits for a lock end
 * after 0.3 s, as the service's. They end with the tests of the file.
 */
export async function startLedgers(name: string) {
  const database = await createTestDatabase(name);
  const pools = [1, 2].map(() => connectPostgres(database.url, { max: 6, pointQueries: true }));
  const [one, other] = pools.map((pool) => createCredits(pool)) as [Credits, Credits];
  const impatient = connectPostgres(database.url, { max: 5, lockTimeoutMs: 300 });
  afterAll(async () => {
    await Promise.all([one, other].map((ledger) => ledger.close(5000)));
    await Promise.all([...pools, impatient].map((pool) => pool.end({ timeout: 5 })));
    await database.drop();
  });
  return { ...database, pools, one, other, impatient };
}

/** The ledger of a further instance, whose Postgres is behind a proxy. `close` brings Postgres back first. */
export async function startProxiedLedger(url: string) {
  const proxy = await startProxy(url);
  const pool = connectPostgres(proxy.url(url), { max: 2, applicationName: 'test' });
  const ledger = createCredits(pool);
  const close = async () => {
    proxy.up();
    await ledger.close(5000);
    await pool.end({ timeout: 1 });
    await proxy.close();
  };
  return { proxy, ledger, close, [Symbol.asyncDispose]: close };
}

/** One search by no key in particular: whether it was charged, and if not, the quota. */
export async function chargeOne(credits: Credits, accountId: string) {
  const { reason } = await credits.charge({ accountId, keyId: '', kind: 'search', credits: 1 });
  return { charged: reason === null, ...(reason as Quota | null) };
}

/** So many at once: how many were charged, refused, and could not be counted. */
export async function chargeMany(credits: Credits, accountId: string, count: number) {
  const outcomes = await Promise.allSettled(
    Array.from({ length: count }, () => chargeOne(credits, accountId)),
  );
  const settled = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const charged = settled.filter((charge) => charge.charged).length;
  return { charged, refused: settled.length - charged, failed: count - settled.length };
}

/** The rows of an account: its counters, and the calls of all days. */
export async function ledgerOf(sql: Sql, accountId: string) {
  const [row] = await sql<{ used: number; credits: number; calls: number }[]>`
    SELECT used, credits,
      coalesce((SELECT sum(calls) FROM calls_by_day c WHERE c.account_id = b.account_id), 0)::bigint AS calls
    FROM balances b WHERE account_id = ${accountId}`;
  return { ...row! };
}

/** The ids of the batches in the journal that charged the account, oldest first. */
export async function attemptsOf(sql: Sql, accountId: string): Promise<string[]> {
  const rows = await sql<{ attempt: string }[]>`
    SELECT attempt FROM call_journal WHERE ${accountId} = ANY (account_ids) ORDER BY spent_at`;
  return rows.map(({ attempt }) => attempt);
}

/** A whole sending of a request that is charged once, which refunds so many of its credits. @returns its charge */
export async function chargeKeyed(ledger: Credits, call: Call, identity: string, back = 0): Promise<Charge> {
  const claim = await ledger.claim(call, identity);
  const charge = await ledger.charge({ ...call, claim });
  await charge.refund(Math.min(back, charge.spent));
  ledger.release(claim);
  return charge;
}

/** The two ways in which all credits of a charge come back. */
export const givingBack = (
  sql: Sql,
): [name: string, giveBack: (charge: Charge, attempt: string) => PromiseLike<unknown>][] => [
  ['a void', (_, attempt) => voidAttempt(sql, attempt)],
  ['a refund', (charge) => charge.refund(charge.spent)],
];

/** Sums over keys of `daily_counts` that are not the sums of the counts of keys. */
export async function differingTotals(sql: Sql): Promise<object[]> {
  return sql`
    SELECT account_id, day, kind, t.calls, t.credits, counted.calls AS "sumOfCalls", counted.credits AS "sumOfCredits"
    FROM (SELECT * FROM daily_counts WHERE key_id = '*' AND hour = -1) AS t FULL JOIN (
      SELECT account_id, day, kind, sum(calls) AS calls, sum(credits) AS credits FROM key_counts
      GROUP BY account_id, day, kind) AS counted USING (account_id, day, kind)
    WHERE (coalesce(t.calls, 0), coalesce(t.credits, 0)) IS DISTINCT FROM (coalesce(counted.calls, 0), coalesce(counted.credits, 0))`;
}

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
