import type { Credits } from '../../src/credits/admit.ts';
import type { Admission } from '../../src/credits/calls.ts';
import type { Sql } from '../../src/postgres/connect.ts';

/** One search by no key in particular. */
export function admit(credits: Credits, accountId: string): Promise<Admission> {
  return credits.admit({ accountId, keyId: '', kind: 'search' });
}

/** So many at once: how many were admitted, refused, and could not be counted. */
export async function admitMany(credits: Credits, accountId: string, count: number) {
  const outcomes = await Promise.allSettled(Array.from({ length: count }, () => admit(credits, accountId)));
  const settled = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const admitted = settled.filter((admission) => admission.admitted).length;
  return { admitted, refused: settled.length - admitted, failed: count - settled.length };
}

/** What the tables hold of an account: its counters, and the calls of all days. */
export async function ledgerOf(sql: Sql, accountId: string) {
  const [row] = await sql<{ used: number; credits: number; calls: number }[]>`
    SELECT used, credits,
      coalesce((SELECT sum(calls) FROM calls_by_day c WHERE c.account_id = b.account_id), 0)::bigint AS calls
    FROM balances b WHERE account_id = ${accountId}`;
  return { ...row! };
}
