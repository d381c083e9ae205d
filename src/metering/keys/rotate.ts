import { RefusedError } from '../../platform/errors.ts';
import { secretStart } from '../../platform/observability/redaction.ts';
import { only } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { DAY, SECOND } from '../../platform/units.ts';
import { type Actor, recordEvent } from '../accounts/events.ts';
import { isPreviousSecret, KeyExistsError, lockKey, refuseConnection } from './key-store.ts';
import { generateSecret, hashSecret } from './secret.ts';

/** How long the previous secret works after a rotation, in seconds (docs/commands.md). */
export const OVERLAP_S = { default: DAY / SECOND, max: (30 * DAY) / SECOND };

/** Rotations of one key in 24 hours. The bound keeps previous secrets and the ledger small. */
export const ROTATIONS_PER_DAY = 20;

/** A key can't be rotated now, although it is known and not revoked. */
export class RotationError extends RefusedError {
  constructor(
    readonly reason: 'expired' | 'often',
    message: string,
  ) {
    super(message);
  }
}

/**
 * Gives a key a new secret. Its id, name, expiry and statistics stay. Every earlier secret works until `previousUntil` at the
 * latest, so only the overlap of a rotation ends a working secret. Of two rotations at once, both new secrets work.
 *
 * @param overlapS seconds; `0` ends earlier secrets at once
 * @param given the new secret, of the key's kind; by default a random one. If the key has it already, nothing changes, so that a
 * form that is sent twice rotates once
 * @throws RefusedError for an unknown or revoked key, or a connection
 * @throws RotationError for an expired key, or after {@link ROTATIONS_PER_DAY}
 * @throws KeyExistsError if another rotation has replaced this secret already
 */
export async function rotateKey(sql: Sql, id: string, overlapS: number, actor: Actor, given?: string) {
  return sql.begin(async (sql) => {
    const key = await lockKey(sql, id);
    refuseConnection(id, key);
    const secret = given ?? generateSecret(undefined, key.test);
    if (key.revoked !== null) throw new RefusedError(`the key ${id} is revoked: create another one`);
    const rows = await sql<{ isSame: boolean; isExpired: boolean; earlier: Date; until: Date }[]>`
      SELECT secret_sha256 = ${hashSecret(secret)} AS "isSame", coalesce(expires_at <= now(), false) AS "isExpired",
        coalesce((SELECT max(until) FROM api_key_previous_secrets WHERE key_id = ${id}), now()) AS earlier,
        least(expires_at, date_trunc('milliseconds', now()) + ${overlapS} * interval '1 second') AS until
      FROM api_keys WHERE id = ${id}`;
    const { isSame, isExpired, earlier, until } = only(rows);
    if (isSame) return { id, secret, previousUntil: earlier };
    if (await isPreviousSecret(sql, secret)) throw new KeyExistsError('the key was rotated earlier');
    const rotations = await sql<{ lastDay: number }[]>`
      SELECT count(*) AS "lastDay" FROM account_events
      WHERE account_id = ${key.accountId} AND kind = 'key-rotated' AND detail ->> 'key' = ${id}
        AND at > now() - interval '1 day'`;
    if (only(rotations).lastDay >= ROTATIONS_PER_DAY) {
      const message = `the key ${id} was rotated ${ROTATIONS_PER_DAY} times in the last 24 hours, which is the most in that time: try again later`;
      throw new RotationError('often', message);
    }
    if (isExpired) throw new RotationError('expired', `the key ${id} has expired: see \`key expire\``);
    await sql`
      INSERT INTO api_key_previous_secrets (secret_sha256, key_id, until)
      SELECT secret_sha256, id, ${until} FROM api_keys WHERE id = ${id}`;
    await sql`UPDATE api_key_previous_secrets SET until = least(until, ${until}) WHERE key_id = ${id}`;
    await sql`DELETE FROM api_key_previous_secrets WHERE key_id = ${id} AND until <= now()`;
    await sql`
      UPDATE api_keys SET secret_sha256 = ${hashSecret(secret)}, start = ${secretStart(secret)} WHERE id = ${id}`;
    const detail = { key: id, previousUntil: until.toISOString() };
    await recordEvent(sql, key.accountId, { kind: 'key-rotated', actor, detail });
    return { id, secret, previousUntil: until };
  });
}
