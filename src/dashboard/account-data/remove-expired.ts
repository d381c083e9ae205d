import { removeInParts } from '../../platform/postgres/batches.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { WINGS } from './wings.ts';

/** Removes the rows of every wing that have expired, in parts. */
export async function removeExpired(sql: Sql): Promise<void> {
  for (const wing of WINGS) {
    const expired = Object.entries(wing.expired?.(sql) ?? {});
    for (const [table, condition] of expired) await removeInParts(sql, table, condition);
  }
}
