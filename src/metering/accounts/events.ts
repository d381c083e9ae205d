/** The ledger of an account's changes, and the notification of every instance. */
import type { Sql, Transaction } from '../../platform/postgres/connect.ts';

/** The author of a change, kept in the ledger, e.g. `cli:maria`. */
export type Actor = string;

/** Whether a member has made a change, and no operator. */
export const isMember = (actor: Actor) => actor.startsWith('dashboard:');

/** Whether the client of a connection has made a change: `client:claude.ai`. */
export const isClient = (actor: Actor) => actor.startsWith('client:');

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
  | 'key-revoked'
  | 'key-expiry-changed'
  | 'key-limited'
  | 'key-secret-ended'
  | 'connection-created'
  | 'member-invited'
  | 'invitation-withdrawn'
  | 'member-added'
  | 'member-removed'
  | 'signed-in'
  | 'sessions-ended'
  | 'password-changed'
  | 'second-factor-on'
  | 'second-factor-off'
  | 'role-changed'
  | 'account-renamed'
  | 'name-changed'
  | 'email-changed';

export interface AccountEvent {
  kind: EventKind;
  actor: Actor;
  credits?: number;
  /** Purchased credits after the grant. */
  balance?: number;
  note?: string;
  reference?: string | undefined;
  /** The new values of a change, e.g. the plan or the limits. */
  detail?: Record<string, string | number | boolean | null>;
}

/** The Postgres channel for changes of an account or its keys. The payload is the account's id. */
export const ACCOUNT_CHANGED = 'account_changed';

/**
 * Writes a ledger row and, with the commit, tells every instance that the account changed.
 * @returns `false` when the account already has a row with this reference
 */
export async function recordEvent(sql: Sql | Transaction, accountId: string, event: AccountEvent) {
  const rows = await sql`
    INSERT INTO account_events (account_id, kind, actor, credits, balance, note, reference, detail)
    VALUES (${accountId}, ${event.kind}, ${event.actor}, ${event.credits ?? null}, ${event.balance ?? null},
      ${event.note ?? ''}, ${event.reference ?? null}, ${sql.json(event.detail ?? {})})
    ON CONFLICT (account_id, reference) WHERE reference IS NOT NULL DO NOTHING
    RETURNING id`;
  await sql`SELECT pg_notify(${ACCOUNT_CHANGED}, ${accountId})`;
  return rows.length === 1;
}
