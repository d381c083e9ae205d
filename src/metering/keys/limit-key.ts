import { RefusedError } from '../../platform/errors.ts';
import { only } from '../../platform/postgres/answer.ts';
import type { Sql, Transaction } from '../../platform/postgres/connect.ts';
import { lockAccount } from '../accounts/account-store.ts';
import { type Actor, recordEvent } from '../accounts/events.ts';
import { lockKey } from './key-store.ts';
import {
  type KeyLimits,
  limitColumns,
  limitDetail,
  refuseBudgetOfTestKey,
  setBudget,
  setRights,
  setShare,
  type UsedBudget,
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
  limits: { [limit in keyof KeyLimits]?: KeyLimits[limit] | undefined },
  actor: Actor,
): Promise<{ id: string } & PresentLimits> {
  return sql.begin(async (sql) => {
    const key = await lockKey(sql, id);
    await lockAccount(sql, key.accountId);
    if (key.revoked !== null) throw new RefusedError(`the key ${id} is revoked: create another one`);
    if (limits.budget && key.test) refuseBudgetOfTestKey();
    const before = await readLimits(sql, id);
    if (limits.budget !== undefined) await setBudget(sql, { id, ...key }, limits.budget);
    if (limits.only !== undefined) await setRights(sql, id, limits.only);
    if (limits.requests_per_minute !== undefined) await setShare(sql, id, limits.requests_per_minute);
    const after = await readLimits(sql, id);
    const detail = limitDetail(after);
    if (JSON.stringify(detail) !== JSON.stringify(limitDetail(before)))
      await recordEvent(sql, key.accountId, { kind: 'key-limited', actor, detail: { key: id, ...detail } });
    return { id, ...after };
  });
}

type PresentLimits = KeyLimits & { budget: UsedBudget | null };

async function readLimits(sql: Transaction, id: string): Promise<PresentLimits> {
  return { ...only(await sql<PresentLimits[]>`SELECT ${limitColumns(sql)} FROM api_keys WHERE id = ${id}`) };
}
