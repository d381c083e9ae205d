import { createHash, type Hash } from 'node:crypto';
import type { createLockedAccounts } from '../accounts/locked.ts';
import { codeOf } from '../errors.ts';
import { type Sql, UNIQUE_VIOLATION } from '../postgres/connect.ts';
import type { Bound } from '../runtime/timeout.ts';
import type { Admission, Call } from './call.ts';
import { type Charge, chargeCalls, paidOf } from './spend.ts';

/**
 * A request with an identity is charged once, however often it is sent (contract: Idempotency-Key). The id of its charge is made
 * from the identity, so that of two sendings one charges, and the other finds the charge. Each is a user of the charge. Credits
 * are returned when all users have returned them.
 */

/** A charge that a sending uses. */
export interface Share {
  attempt: string;
  /** Credits that were charged; while that is unknown, all that were asked for. */
  charged: number;
  /** The part of them that this sending uses. */
  used: number;
}

/** Each time that the credits suffice for a part only, the rest is another charge. */
const MAX_CHARGES = 16;
/** Beyond so many users none is noted: a last one that returns nothing stands for them. */
const MAX_USERS = 32;
const NO_RETURN = '00000000-0000-0000-0000-000000000000';

/**
 * Becomes a user of those charges of the last ten minutes that are there. An older one gets another id.
 * @param attempts ids of charges
 * @returns their credits
 */
async function useCharges(sql: Sql, attempts: string[], user: string): Promise<Map<string, number>> {
  const rows = await sql<{ attempt: string; credits: number; isOld: boolean }[]>`
    WITH held AS MATERIALIZED (
      SELECT attempt, spent_at < now() - interval '10 minutes' AS is_old FROM call_journal
      WHERE attempt = ANY (${attempts}::uuid[]) ORDER BY attempt FOR UPDATE
    )
    UPDATE call_journal charge SET
      attempt = CASE WHEN is_old THEN gen_random_uuid() ELSE charge.attempt END,
      users = CASE WHEN ${user} = ANY (users) THEN users WHEN cardinality(users) < ${MAX_USERS} THEN users || ${user}::uuid
        ELSE array_remove(users, ${NO_RETURN}) || ${NO_RETURN}::uuid END
    FROM held WHERE charge.attempt = held.attempt
    RETURNING held.attempt, is_old AS "isOld", calls[1] AS credits`;
  return new Map(rows.filter(({ isOld }) => !isOld).map(({ attempt, credits }) => [attempt, credits]));
}

export interface ChargeOnceParts {
  call: Call;
  /** UUID of this sending. */
  user: string;
  /** Gets each charge before it is used, because its outcome may stay unknown. */
  shares: Share[];
  bound: Bound;
  runForUnlocked: ReturnType<typeof createLockedAccounts>;
}

/**
 * Uses the charges of earlier sendings of a call, and charges the credits that are missing.
 * @returns undefined when the account is locked, or gone
 */
export async function chargeOnce(
  sql: Sql,
  { call, user, shares, bound, runForUnlocked }: ChargeOnceParts,
): Promise<Omit<Admission, 'giveBack'> | undefined> {
  const { credits, identity } = call;
  const attempts = Array.from({ length: MAX_CHARGES }, (_, number) =>
    uuidOf(createHash('sha256').update(`${identity} ${number}`)),
  );
  let missing: number;
  let charged: Charge | undefined;
  for (;;) {
    missing = credits;
    shares.length = 0;
    const found = await bound(useCharges(sql, attempts, user));
    // All sendings use, and return, their shares in the same order.
    for (const attempt of attempts) {
      const paid = found.get(attempt);
      if (paid === undefined) continue;
      const used = Math.min(paid, missing);
      shares.push({ attempt, charged: paid, used });
      missing -= used;
    }
    const attempt = attempts.find((id) => !found.has(id));
    if (attempt === undefined) throw new Error('the request was charged in too many parts');
    if (missing === 0 && !call.wantsLeft) break;
    const share = { attempt, charged: missing, used: missing };
    shares.push(share);
    try {
      const run = (free: Call[]) => chargeCalls(sql, free, attempt, user);
      [, [charged]] = await runForUnlocked([{ ...call, credits: missing }], bound, run);
    } catch (error) {
      // Another sending has charged it meanwhile.
      if (codeOf(error) === UNIQUE_VIOLATION) continue;
      throw error;
    }
    if (charged === undefined) return undefined;
    share.charged = share.used = charged.spent?.[0] ?? missing;
    missing -= share.used;
    shares.sort((a, b) => attempts.indexOf(a.attempt) - attempts.indexOf(b.attempt));
    break;
  }
  return paidOf(call, credits - missing, charged);
}

/** As Postgres writes it. */
function uuidOf(hash: Hash): string {
  return hash
    .digest('hex')
    .slice(0, 32)
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** Returns credits of those that a sending uses of a charge. Idempotent. */
export function returnShare(sql: Sql, { attempt, charged, used }: Share, credits: number, user: string) {
  return sql`SELECT return_share(${attempt}::uuid, ${user}::uuid, ${charged - used + credits}::bigint)`;
}
