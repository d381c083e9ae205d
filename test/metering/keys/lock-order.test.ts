/** Changes of keys lock the key first, then its account, so that no two of them wait for each other. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { deleteAccount } from '../../../src/metering/account-data/delete.ts';
import type { EventKind } from '../../../src/metering/accounts/events.ts';
import { createAccount } from '../../../src/metering/accounts/store.ts';
import { endPreviousSecrets, expireKey } from '../../../src/metering/keys/expire.ts';
import { rotateKey } from '../../../src/metering/keys/rotate.ts';
import { createKey, renameKey, revokeKey } from '../../../src/metering/keys/store.ts';
import { RefusedError } from '../../../src/platform/errors.ts';
import { connectPostgres, type Sql } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';

const ROUNDS = 6;

interface Key {
  id: string;
  accountId: string;
}
type Change = (sql: Sql, key: Key) => Promise<unknown>;
/** A change of a key writes an event, so the type check names one that is missing here. */
type KeyEvent = Extract<EventKind, `key-${string}`>;

let unique = 0;
const later = () => new Date(Date.now() + 3_600_000 + ++unique);
const OF_KEYS: Record<KeyEvent, Change> = {
  'key-created': (sql, { accountId }) => createKey(sql, accountId, '', 'test'),
  'key-rotated': (sql, { id }) => rotateKey(sql, id, 3600, 'test'),
  'key-renamed': (sql, { id }) => renameKey(sql, id, `name ${++unique}`, 'test'),
  'key-revoked': (sql, { id }) => revokeKey(sql, id, 'test'),
  'key-expiry-changed': (sql, { id }) => expireKey(sql, id, later(), 'test'),
  'key-secret-ended': (sql, { id }) => endPreviousSecrets(sql, id, 'test'),
};
const CHANGES: [string, Change][] = [
  ...Object.entries(OF_KEYS),
  ['deleted', (sql, { accountId }) => deleteAccount(sql, accountId, 'test')],
];
const PAIRS = CHANGES.flatMap(([one, first], index) =>
  CHANGES.slice(index).map(([other, second]) => [one, other, first, second] as const),
);

const database = await createTestDatabase('key_locks');
let sql: Sql;
beforeAll(() => {
  sql = connectPostgres(database.url, { max: 2 * ROUNDS });
});
afterAll(async () => {
  await sql.end({ timeout: 5 });
  await database.drop();
});

/** A key with a replaced secret. */
async function newKey(): Promise<Key> {
  const { id: accountId } = await createAccount(sql, { name: '', plan: 'plus' }, 'test');
  const { id } = await createKey(sql, accountId, '', 'test');
  await rotateKey(sql, id, 3600, 'test');
  return { id, accountId };
}

test.each(CHANGES)('%s is the event that its change writes', async (kind, change) => {
  const key = await newKey();
  await change(sql, key);
  const [last] = await sql`
    SELECT kind FROM account_events WHERE account_id = ${key.accountId} ORDER BY id DESC LIMIT 1`;
  expect(last!.kind).toBe(kind);
});

describe('two changes of a key at once both end, or are refused with a reason', () => {
  test.each(PAIRS)('%s and %s', async (_, __, first, second) => {
    const keys = await Promise.all(Array.from({ length: ROUNDS }, newKey));
    const outcomes = await Promise.allSettled(
      keys.flatMap((key) => [first, second].map((change) => change(sql, key))),
    );
    const failed = outcomes.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
    expect(failed.map(({ reason }) => reason).filter((error) => !(error instanceof RefusedError))).toEqual(
      [],
    );
  });
});
