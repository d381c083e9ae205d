import { randomUUID } from 'node:crypto';
import type { Sql } from '../postgres/connect.ts';
import { BATCH_TIMEOUT_MS } from '../runtime/batch.ts';
import { withTimeout } from '../runtime/timeout.ts';
import type { Call } from './calls.ts';
import { RETRY_AFTER_MS } from './void.ts';

/** An admitted call, and the id of the batch that charged it. */
export interface ChargedCall extends Pick<Call, 'accountId' | 'keyId' | 'kind'> {
  attempt: string;
}

/**
 * Takes one call out of the batch that charged it, into a voided batch of one call: the roll-up returns its credit as it
 * returns those of any voided batch (reverse.ts). Idempotent by `id`, which the batch keeps.
 *
 * A batch older than ten minutes is gone from the journal; its calls can't be given back.
 * @param id UUID of this one return
 */
export async function giveBackCall(
  sql: Sql,
  { accountId, keyId, kind, attempt }: ChargedCall,
  id: string,
): Promise<void> {
  const purchased = sql`coalesce((journal.purchased ->> ${accountId})::bigint, 0)`;
  await sql`
    WITH call AS MATERIALIZED (
      SELECT entry.position, ${purchased} > 0 AS is_purchased
      FROM call_journal journal,
        unnest(account_ids, key_ids, kinds, journal.calls) WITH ORDINALITY AS entry (account_id, key_id, kind, calls, position)
      WHERE attempt = ${attempt} AND entry.account_id = ${accountId} AND entry.key_id = ${keyId}
        AND entry.kind = ${kind} AND entry.calls > 0 AND (${id}::uuid = ANY (returned)) IS NOT TRUE
      LIMIT 1
    ), batch AS (
      UPDATE call_journal journal SET
        returned = array_append(returned, ${id}::uuid),
        calls[call.position] = journal.calls[call.position] - 1,
        purchased = CASE WHEN is_purchased
          THEN jsonb_set(purchased, ARRAY[${accountId}::text], to_jsonb(${purchased} - 1)) ELSE purchased END
      FROM call WHERE attempt = ${attempt}
      RETURNING journal.at, journal.spent_at, journal.counted, is_purchased
    )
    INSERT INTO call_journal
      (attempt, at, spent_at, account_ids, key_ids, kinds, calls, purchased, counted, voided)
    SELECT ${id}::uuid, at, spent_at, ARRAY[${accountId}::text], ARRAY[${keyId}::text], ARRAY[${kind}::text], ARRAY[1],
      CASE WHEN is_purchased THEN jsonb_build_object(${accountId}::text, 1) END, counted, true
    FROM batch`;
}

/** The calls that are owed their credit. */
export interface GiveBacks {
  add(call: ChargedCall): void;
  /** Resolves when nothing is owed any more. */
  settled(): Promise<void>;
  /** Tries no more. @returns what is still owed, and why */
  stop(): { owed: ChargedCall[]; error: unknown };
}

/**
 * Gives calls back one after another, each until Postgres has acknowledged it.
 * @param onAcknowledged called when there are credits for the roll-up to return
 */
export function createGiveBacks(sql: Sql, onAcknowledged: () => void): GiveBacks {
  const owed = new Map<string, ChargedCall>();
  let running: Promise<void> | null = null;
  let isStopped = false;
  let lastError: unknown = null;

  async function run(): Promise<void> {
    for (let next = first(); next !== undefined && !isStopped; next = first()) {
      const [id, call] = next;
      try {
        await withTimeout(giveBackCall(sql, call, id), BATCH_TIMEOUT_MS, 'the credit ledger');
        owed.delete(id);
      } catch (error) {
        lastError = error;
        await Bun.sleep(RETRY_AFTER_MS);
      }
    }
    running = null;
    onAcknowledged();
  }

  const first = () => owed.entries().next().value;

  return {
    add(call) {
      owed.set(randomUUID(), call);
      running ??= run();
    },
    settled: async () => {
      await running;
    },
    stop() {
      isStopped = true;
      return { owed: [...owed.values()], error: lastError };
    },
  };
}
