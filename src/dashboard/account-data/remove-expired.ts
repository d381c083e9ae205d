import type { Sql } from '../../platform/postgres/connect.ts';
import { WINGS } from './wings.ts';

/** Removes the rows of every wing that have expired. */
export async function removeExpired(sql: Sql): Promise<void> {
  for (const wing of WINGS) await wing.removeExpired?.(sql);
}
