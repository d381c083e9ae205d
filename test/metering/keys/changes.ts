import type { EventKind } from '../../../src/metering/accounts/events.ts';
import { endPreviousSecrets, expireKey } from '../../../src/metering/keys/expire.ts';
import { createKey, renameKey, revokeKey } from '../../../src/metering/keys/key-store.ts';
import { limitKey } from '../../../src/metering/keys/limit-key.ts';
import { rotateKey } from '../../../src/metering/keys/rotate.ts';
import { generateSecret } from '../../../src/metering/keys/secret.ts';
import type { Sql } from '../../../src/platform/postgres/connect.ts';

export interface Key {
  id: string;
  accountId: string;
}
export type Change = (sql: Sql, key: Key) => Promise<unknown>;
/** A change of a key writes an event, so the type check names one that is missing here. */
type KeyEvent = Extract<EventKind, `key-${string}`>;

let unique = 0;
const later = () => new Date(Date.now() + 3_600_000 + ++unique);
/** Every change of keys. A new key is of the kind that is asked for. */
export const changesOfKeys = (isTest: boolean): Record<KeyEvent, Change> => ({
  'key-created': (sql, { accountId }) =>
    createKey(sql, accountId, '', 'test', null, generateSecret(undefined, isTest)),
  'key-rotated': (sql, { id }) => rotateKey(sql, id, 3600, 'test'),
  'key-renamed': (sql, { id }) => renameKey(sql, id, `name ${++unique}`, 'test'),
  'key-revoked': (sql, { id }) => revokeKey(sql, id, 'test'),
  'key-expiry-changed': (sql, { id }) => expireKey(sql, id, later(), 'test'),
  'key-limited': (sql, { id }) => limitKey(sql, id, { only: ['search'] }, 'test'),
  'key-secret-ended': (sql, { id }) => endPreviousSecrets(sql, id, 'test'),
});
