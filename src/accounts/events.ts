/** What changed an account, and the news of it. */
import type { Transaction } from '../postgres/connect.ts';

/** Who does it: kept in the ledger with every change, e.g. `cli:maria`. */
export type Actor = string;

export type EventKind =
  | 'created'
  | 'plan'
  | 'limits'
  | 'credits'
  | 'suspended'
  | 'resumed'
  | 'deleted'
  | 'key-created'
  | 'key-rotated'
  | 'key-renamed'
  | 'key-revoked';

/** The ledger's row of something that changed an account. */
export interface AccountEvent {
  kind: EventKind;
  actor: Actor;
  credits?: number;
  balance?: number;
  note?: string;
  reference?: string | undefined;
  detail?: Record<string, string | number | boolean | null>;
}

/** Postgres channel on which instances hear that an account or its keys changed; the payload is the account's id. */
export const ACCOUNT_CHANGED = 'account_changed';

/**
 * Writes a ledger row and, with the commit, tells every instance that the account changed.
 * @returns `false` when the account already has a row with this reference
 */
export async function recordEvent(
  sql: Transaction,
  accountId: string,
  event: AccountEvent,
): Promise<boolean> {
  const rows = await sql`
    INSERT INTO account_events (account_id, kind, actor, credits, balance, note, reference, detail)
    VALUES (${accountId}, ${event.kind}, ${event.actor}, ${event.credits ?? null}, ${event.balance ?? null},
      ${event.note ?? ''}, ${event.reference ?? null}, ${sql.json(event.detail ?? {})})
    ON CONFLICT (account_id, reference) WHERE reference IS NOT NULL DO NOTHING
    RETURNING id`;
  await sql`SELECT pg_notify(${ACCOUNT_CHANGED}, ${accountId})`;
  return rows.length === 1;
}
