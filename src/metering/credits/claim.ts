/**
 * A request with an identity is charged once, however often it is sent (docs/api.md: Idempotency-Key). One of its sendings is live at a
 * time: it has claimed the request, and its charge has the id of the sending. The claim ends in the statement that stores what the sending
 * keeps, or by itself after {@link LIVE_MS}, if its process has died. The next sending finds what was kept.
 */
import { randomUUID } from 'node:crypto';
import { only } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { createBatcher } from '../../platform/runtime/batcher.ts';
import { OverloadedError } from '../../platform/runtime/timeout.ts';
import { SECOND } from '../../platform/units.ts';
import { type Charge, type Claim, type Owner, REPEAT_WINDOW_MS, type Shortage } from './call.ts';
import { type Refund, refundCredits, voidAttempt } from './refund.ts';

/** Longer than any endpoint takes to answer once its body is read, with `PROVIDER_TIMEOUT_MS` up to 14 s. */
const LIVE_MS = 30 * SECOND;
/** A sending waits so long for another one. It is the time of a slow answer, so clients wait as well. */
const WAIT_MS = 20 * SECOND;
const FIRST_POLL_MS = 25;
const SLOWEST_POLL_MS = 250;

/** Another sending of the request is under way, for longer than this one waits. */
export class StillUnderWayError extends Error {
  constructor(readonly retryAfterS: number) {
    super('another sending of the request is under way');
  }
}

/** What a charged sending keeps of its charge, and what is refunded. */
export interface ClaimEnd {
  claim: Claim;
  charged: Pick<Charge, 'spent' | 'reason'>;
  /** Of the credits that were not used; of 0 it is not stored. */
  refund: Refund;
}

type ClaimRow = {
  isOurs: boolean;
  waitS: number | null;
  kept: number;
  reason: Shortage | null;
};

function claimRequest(sql: Sql, { accountId, keyId }: Owner, request: string, sending: string) {
  return sql<ClaimRow[]>`
    SELECT is_ours AS "isOurs", wait_s AS "waitS", kept, (
      SELECT refusal_of(counter_at(c, now())) FROM counters c
      WHERE id = CASE short_of WHEN 'account' THEN ${accountId} WHEN 'key' THEN claimed.key_id END
        AND (per IS NULL OR id = ${keyId} AND included_credits IS NOT NULL)) AS reason
    FROM claim_request(${request}::uuid, ${sending}::uuid, ${LIVE_MS}::float8 * interval '1 millisecond',
      ${REPEAT_WINDOW_MS}::float8 * interval '1 millisecond') AS claimed`;
}

/** Ends a claim whose sending was not charged. Idempotent. */
export const releaseClaim = (sql: Sql, { request, sending }: Claim) =>
  sql`UPDATE keyed_requests SET sending = NULL WHERE id = ${request} AND sending = ${sending}`;

/**
 * Ends the claim of a charged sending, and stores what it keeps and refunds. Idempotent. If another sending has claimed the request
 * meanwhile, nothing happens: that one has found the charge, and uses it.
 */
export function endClaim(sql: Sql, { claim, charged, refund }: ClaimEnd) {
  const { keyId, credits } = refund;
  const shortOf = charged.reason && ('per' in charged.reason ? 'key' : 'account');
  return sql`
    WITH ended AS (
      UPDATE keyed_requests SET sending = NULL, kept = ${charged.spent - credits}, kept_at = now(), short_of = ${shortOf}, key_id = ${keyId}
      WHERE id = ${claim.request} AND sending = ${claim.sending}
      RETURNING 1)
    ${refundCredits(sql, credits > 0 ? [refund] : [], sql`(SELECT call_journal.* FROM call_journal, ended) AS charge`)}`;
}

/**
 * Voids the charge of a sending whose outcome is unknown, and ends its claim. If another sending has claimed the request
 * meanwhile, nothing happens, as in {@link endClaim}.
 */
export const voidSending = (sql: Sql, claim: Claim) => sql`
  WITH ended AS (${releaseClaim(sql, claim)} RETURNING 1) ${voidAttempt(sql, claim.sending, sql`FROM ended`)}`;

/** Of names of our own (RFC 9562, 6.6): an arbitrary UUID. */
const NAMESPACE = '4b0e6f52-6a0c-4c0f-9d3e-2f7b1c9a8d54';

/**
 * Claims requests. A second sending waits for the first one to end.
 * @param release ends a claim whose outcome is unknown
 * @param identity of the request (src/metering/admission/face.ts)
 * @throws StillUnderWayError after {@link WAIT_MS}; another error when Postgres gave no answer. Nothing is claimed for long then
 */
export function createClaims(sql: Sql, release: (claim: Claim) => void) {
  const enqueue = createBatcher(
    async ([claim]: { owner: Owner; request: string; sending: string }[], bound) => {
      const { owner, request, sending } = claim!;
      try {
        return [only(await bound(claimRequest(sql, owner, request, sending)))];
      } catch (error) {
        release({ request, sending, earlier: null });
        throw error;
      }
    },
    { name: 'the claims of requests', maxBatch: 1, maxConcurrentBatches: 4 },
  );

  return async function claim(owner: Owner, identity: string, signal?: AbortSignal): Promise<Claim> {
    const request = Bun.randomUUIDv5(identity, NAMESPACE);
    const sending = randomUUID();
    const endMs = performance.now() + WAIT_MS;
    for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(pauseMs * 1.5, SLOWEST_POLL_MS)) {
      const { isOurs, waitS, kept, reason } = await enqueue({ owner, request, sending });
      if (isOurs) return { request, sending, earlier: kept > 0 ? { kept, reason } : null };
      if (performance.now() + pauseMs > endMs) throw new StillUnderWayError(waitS!);
      await Bun.sleep(pauseMs);
      if (signal?.aborted) throw new OverloadedError('the client has left');
    }
  };
}
