/**
 * A request with an identity is charged once, however often it is sent (docs/api.md: Idempotency-Key). The charge's row has an id
 * made from the identity, which is unique: of two sendings one charges, and the other finds the charge. Each sending has a row with
 * the charge's attempt, and the charge counts them. Credits are refunded when every sending has refunded them.
 */
import { randomUUID } from 'node:crypto';
import { codeOf } from '../../platform/errors.ts';
import { type Sql, UNIQUE_VIOLATION } from '../../platform/postgres/connect.ts';
import type { Bound } from '../../platform/runtime/timeout.ts';
import { MINUTE } from '../../platform/units.ts';
import type { createLockedAccounts } from '../accounts/locked.ts';
import type { Call, Charge, Quota, SpentBudget } from './call.ts';
import { chargeCalls, paidOf } from './charge-calls.ts';
import { isRolledBack } from './void.ts';

/** A request that is sent again within this time is not charged again (docs/api.md: Idempotency-Key). */
export const REPEAT_WINDOW_MS = 10 * MINUTE;

interface Charged {
  /** Credits that this sending can use. */
  charged: number;
  /** The account's quota, by its id, if its credits did not suffice for the first sending. */
  quotas: Record<string, Quota> | null;
  /** The key's budget, if that did not suffice. Another key is told nothing of it. */
  budget: SpentBudget | null;
}

/**
 * Joins the sendings of a charge. An old charge loses its request's id, so that the request is charged again. It keeps its attempt,
 * so that a late refund of one of its sendings still finds it, and never the next charge of the request.
 * @returns no row if there is no such charge
 */
function joinCharge(sql: Sql, request: string, sending: string, { accountId, keyId }: Call) {
  return sql<Charged[]>`
    WITH found AS (
      UPDATE call_journal SET
        request = CASE WHEN spent_at < oldest THEN NULL ELSE request END,
        sendings = sendings + CASE WHEN spent_at < oldest THEN 0 ELSE 1 END
      FROM (SELECT now() - ${REPEAT_WINDOW_MS}::float8 * interval '1 millisecond') AS time (oldest)
      WHERE request = ${request}
      RETURNING attempt, spent_at < oldest AS is_old, charged, short_of, key_ids[1] AS charged_key
    ), joined AS (
      INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, counted, charge)
      SELECT ${sending}, now(), '{}', '{}', '{}', '{}', true, attempt FROM found WHERE NOT is_old
    )
    SELECT charged, CASE short_of WHEN 'account' THEN short_quotas(ARRAY[${accountId}::text], '{1}', '{0}') END AS quotas,
      CASE short_of WHEN 'key' THEN (
        SELECT spent_budget(credits, per, greatest(window_start, budget_window(per, now())))
        FROM key_budgets WHERE key_id = charged_key AND key_id = ${keyId} AND credits IS NOT NULL) END AS budget
    FROM found WHERE NOT is_old`;
}

export interface ChargeOnceParts {
  call: Call;
  /** UUID of this sending. */
  sending: string;
  bound: Bound;
  runForUnlocked: ReturnType<typeof createLockedAccounts>;
}

type Paid = Omit<Charge, 'refund'> & {
  /** Credits of an earlier sending's charge that this one does not need. */
  unused: number;
};

/**
 * Charges a request, or finds the charge of an earlier sending.
 * @returns undefined when the account is locked, or gone
 */
export async function chargeOnce(
  sql: Sql,
  { call, sending, bound, runForUnlocked }: ChargeOnceParts,
): Promise<Paid | undefined> {
  const request = Bun.randomUUIDv5(call.identity!, NAMESPACE);
  for (;;) {
    const earlier = await join();
    if (earlier !== undefined) return earlier;
    try {
      const run = (unlocked: Call[]) => chargeCalls(sql, unlocked, randomUUID(), { request, sending });
      const [, [charged]] = await runForUnlocked([call], bound, run);
      const paid = charged && paidOf(call, charged);
      // While this sending waited for the balance, another one may have been charged the account's last credits.
      const isRefused = paid !== undefined && paid.spent === 0 && call.credits > 0;
      return (isRefused ? await join() : undefined) ?? (paid && { ...paid, unused: 0 });
    } catch (error) {
      // Another sending has charged it meanwhile.
      if (codeOf(error) !== UNIQUE_VIOLATION) throw error;
    }
  }

  async function join(): Promise<Paid | undefined> {
    const [earlier] = await bound(joinCharge(sql, request, sending, call));
    if (earlier === undefined) return undefined;
    const spent = Math.min(earlier.charged, call.credits);
    const isShort = spent < call.credits;
    const quota = isShort ? (earlier.quotas?.[call.accountId] ?? null) : null;
    const budget = isShort ? earlier.budget : null;
    const left = call.wantsLeft ? await creditsLeft() : null;
    return { spent, quota, budget, isRepeated: true, left, unused: earlier.charged - spent };
  }

  /** A charge of nothing tells what is left. `null` means that Postgres could not say, which is no reason to refuse what is paid. */
  async function creditsLeft(): Promise<number | null> {
    try {
      const nothing = { ...call, credits: 0 };
      const [, [charged]] = await runForUnlocked([nothing], bound, (free) => chargeCalls(sql, free, sending));
      return charged === undefined ? null : (paidOf(nothing, charged)?.left ?? 0);
    } catch (error) {
      if (isRolledBack(error)) return null;
      throw error;
    }
  }
}

/** Of names of our own (RFC 9562, 6.6): an arbitrary UUID. */
const NAMESPACE = '4b0e6f52-6a0c-4c0f-9d3e-2f7b1c9a8d54';

/** Refunds the credits that a sending can use, except those that it keeps. Idempotent, also for a sending that has not arrived. */
export function refundSending(sql: Sql, sending: string, keeps: number) {
  return sql`SELECT refund_sending(${sending}::uuid, ${keeps}::bigint)`;
}
