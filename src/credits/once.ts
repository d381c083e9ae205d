import type { createLockedAccounts } from '../accounts/locked.ts';
import { codeOf } from '../errors.ts';
import { type Sql, UNIQUE_VIOLATION } from '../postgres/connect.ts';
import type { Bound } from '../runtime/timeout.ts';
import type { Admission, Call } from './call.ts';
import { type Charge, chargeCalls, paidOf } from './spend.ts';
import { VOID_WINDOW_MS } from './void.ts';

/**
 * A request with an identity is charged once, however often it is sent (contract: Idempotency-Key). The id of its charge is made
 * from the identity, so that of two sendings one charges, and the other finds the charge. Each is a user of the charge. Credits
 * are returned when all users have returned them.
 */

/** A charge that a sending uses. */
interface Share {
  attempt: string;
  /** Credits of the charge. */
  charged: number;
  /** The part of them that this sending uses. */
  used: number;
}

/**
 * A request whose credits sufficed for a part has another charge for the rest. So many ids of charges are asked for at first, and
 * twice as many when all of them are found.
 */
const FIRST_ATTEMPTS = 4;
/** Beyond so many users none is noted: a last one that returns nothing stands for them. */
const MAX_USERS = 1_000;
const NO_RETURN = '00000000-0000-0000-0000-000000000000';

/**
 * Becomes a user of those charges that are there and may still be voided. An older one gets another id. A user that has returned
 * its credits becomes none again, because then this statement comes too late.
 * @param attempts ids of charges
 * @returns their credits
 */
async function useCharges(sql: Sql, attempts: string[], user: string): Promise<Map<string, number>> {
  const rows = await sql<{ attempt: string; credits: number; isOld: boolean }[]>`
    WITH held AS MATERIALIZED (
      SELECT attempt, spent_at < now() - ${VOID_WINDOW_MS}::float8 * interval '1 millisecond' AS is_old FROM call_journal
      WHERE attempt = ANY (${attempts}::uuid[]) ORDER BY attempt FOR UPDATE
    )
    UPDATE call_journal charge SET
      attempt = CASE WHEN is_old THEN gen_random_uuid() ELSE charge.attempt END,
      users = CASE WHEN ${user} = ANY (users) THEN users WHEN cardinality(users) < ${MAX_USERS} THEN users || ${user}::uuid
        ELSE array_remove(users, ${NO_RETURN}) || ${NO_RETURN}::uuid END
    FROM held
    WHERE charge.attempt = held.attempt AND NOT has_returned(${user})
    RETURNING held.attempt, is_old AS "isOld", calls[1] AS credits`;
  return new Map(rows.filter(({ isOld }) => !isOld).map(({ attempt, credits }) => [attempt, credits]));
}

export interface ChargeOnceParts {
  call: Call;
  /** UUID of this sending. */
  user: string;
  /** Gets the id of each charge before this sending may use it, because the outcome of a statement may stay unknown. */
  attempts: string[];
  bound: Bound;
  runForUnlocked: ReturnType<typeof createLockedAccounts>;
}

/**
 * Uses the charges of earlier sendings of a call, and charges the credits that are missing.
 * @returns `paid` is undefined when the account is locked, or gone
 */
export async function chargeOnce(
  sql: Sql,
  { call, user, attempts, bound, runForUnlocked }: ChargeOnceParts,
): Promise<{ paid: Omit<Admission, 'giveBack'> | undefined; shares: Share[] }> {
  const { credits, identity } = call;
  attempts.push(...attemptsOf(identity!, FIRST_ATTEMPTS));
  for (;;) {
    const found = await bound(useCharges(sql, attempts, user));
    const free = attempts.find((attempt) => !found.has(attempt));
    if (free === undefined) {
      attempts.push(...attemptsOf(identity!, 2 * attempts.length).slice(attempts.length));
      continue;
    }
    const shares: Share[] = [];
    let missing = credits;
    for (const attempt of attempts) {
      const charged = found.get(attempt);
      if (charged === undefined) continue;
      const used = Math.min(charged, missing);
      shares.push({ attempt, charged, used });
      missing -= used;
    }
    if (missing === 0 && !call.wantsLeft) return { paid: paidOf(call, credits, undefined), shares };
    let charge: Charge | undefined;
    try {
      const run = (unlocked: Call[]) => chargeCalls(sql, unlocked, free, user);
      [, [charge]] = await runForUnlocked([{ ...call, credits: missing }], bound, run);
    } catch (error) {
      // Another sending has charged it meanwhile.
      if (codeOf(error) === UNIQUE_VIOLATION) continue;
      throw error;
    }
    if (charge === undefined) return { paid: undefined, shares };
    const spent = charge.spent?.[0] ?? missing;
    shares.push({ attempt: free, charged: spent, used: spent });
    // All sendings use, and return, their shares in the same order.
    shares.sort((a, b) => attempts.indexOf(a.attempt) - attempts.indexOf(b.attempt));
    return { paid: paidOf(call, credits - missing + spent, charge), shares };
  }
}

/** The ids of the charges of a request, in their order. */
function attemptsOf(identity: string, count: number): string[] {
  return Array.from({ length: count }, (_, number) => Bun.randomUUIDv5(`${identity} ${number}`, NAMESPACE));
}

/** Of names of our own (RFC 9562, 6.6): an arbitrary UUID. */
const NAMESPACE = '4b0e6f52-6a0c-4c0f-9d3e-2f7b1c9a8d54';

/** Returns all that a sending may use of these charges, whether it uses them or not. Idempotent. */
export function returnAll(sql: Sql, user: string, attempts: string[]) {
  return returnShares(sql, user, new Map(attempts.map((attempt) => [attempt, Number.MAX_SAFE_INTEGER])));
}

/** Returns credits of those that a sending uses, of the latest charge first. Idempotent. */
export function returnPart(sql: Sql, user: string, shares: Share[], credits: number) {
  const unused = new Map<string, number>();
  let left = credits;
  for (const { attempt, charged, used } of shares.toReversed()) {
    const back = Math.min(left, used);
    left -= back;
    if (charged - used + back > 0) unused.set(attempt, charged - used + back);
  }
  return returnShares(sql, user, unused);
}

/** @param unused the credits of each charge that this sending does not use in the end */
function returnShares(sql: Sql, user: string, unused: Map<string, number>) {
  // In the order in which `useCharges` locks them.
  const attempts = [...unused.keys()].sort();
  const credits = attempts.map((attempt) => unused.get(attempt)!);
  return sql`
    SELECT return_share(attempt, ${user}::uuid, credits)
    FROM unnest(${attempts}::uuid[], ${credits}::bigint[]) AS share (attempt, credits)`;
}
