import { RefusedError } from '../../platform/errors.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { lockAccount, requireAccount } from '../accounts/account-store.ts';
import { type Actor, recordEvent } from '../accounts/events.ts';
import { clock } from '../accounts/plan.ts';
import { lockKey, refuseConnection, refusePast, refuseWithoutRoom } from './key-store.ts';

/**
 * Changes the end of a key, or gives a key that has expired a new one (docs/commands.md). An expired key then takes a place
 * of the plan again.
 *
 * @param expires the key is refused from then on; `null` means that it doesn't expire
 * @throws RefusedError for an unknown or revoked key, a connection, or an instant that is not in the future
 * @throws TooManyKeysError when the plan has no room for an expired key
 */
export async function expireKey(sql: Sql, id: string, expires: Date | null, actor: Actor) {
  return sql.begin(async (sql) => {
    const key = await lockKey(sql, id);
    refuseConnection(id, key);
    const { accountId, revoked, test } = key;
    // Key first, then account, as in every change of a key. Under both, two keys at once for the last place get one.
    await lockAccount(sql, accountId);
    if (revoked !== null) throw new RefusedError(`the key ${id} is revoked: create another one`);
    await refusePast(sql, expires);
    if (key.expires?.getTime() === expires?.getTime()) return { id, expires };
    // By the clock behind the locks: a key that has ended meanwhile may have lost its place.
    if (key.expires !== null && key.expires <= (await clock(sql)))
      await refuseWithoutRoom(sql, await requireAccount(sql, accountId), test);
    await sql`UPDATE api_keys SET expires_at = ${expires} WHERE id = ${id}`;
    const detail = { key: id, expires: expires?.toISOString() ?? null };
    await recordEvent(sql, accountId, { kind: 'key-expiry-changed', actor, detail });
    return { id, expires };
  });
}

/** Ends the replaced secrets of a key at once. Without any, nothing changes. @throws RefusedError for an unknown key */
export async function endPreviousSecrets(sql: Sql, id: string, actor: Actor): Promise<void> {
  await sql.begin(async (sql) => {
    const { accountId } = await lockKey(sql, id);
    const ended = await sql`
      UPDATE api_key_previous_secrets SET until = now() WHERE key_id = ${id} AND until > now() RETURNING 1`;
    if (ended.length === 0) return;
    await recordEvent(sql, accountId, { kind: 'key-secret-ended', actor, detail: { key: id } });
  });
}
