/** No change of keys makes more keys work than an account has room for: five test keys, and those of its plan. */
import { afterAll, describe, expect, test } from 'bun:test';
import { deleteAccount } from '../../../src/dashboard/account-data/wings.ts';
import { createAccount } from '../../../src/metering/accounts/account-store.ts';
import type { EventKind } from '../../../src/metering/accounts/events.ts';
import { endPreviousSecrets, expireKey } from '../../../src/metering/keys/expire.ts';
import { createKey, renameKey, revokeKey, TooManyKeysError } from '../../../src/metering/keys/key-store.ts';
import { limitKey } from '../../../src/metering/keys/limit-key.ts';
import { rotateKey } from '../../../src/metering/keys/rotate.ts';
import { generateSecret } from '../../../src/metering/keys/secret.ts';
import { RefusedError } from '../../../src/platform/errors.ts';
import { connectPostgres, type Sql } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';
import { lockRow, waitingForLock } from '../../support/locks.ts';
import { eventually } from '../../support/until.ts';

interface Key {
  id: string;
  accountId: string;
}
type Change = (sql: Sql, key: Key) => Promise<unknown>;
/** A change of a key writes an event, so the type check names one that is missing here. */
type KeyEvent = Extract<EventKind, `key-${string}`>;

let unique = 0;
const later = () => new Date(Date.now() + 3_600_000 + ++unique);
/** Every change of keys. A new key is of the kind that is asked for. */
const changesOfKeys = (isTest: boolean): Record<KeyEvent, Change> => ({
  'key-created': (sql, { accountId }) =>
    createKey(sql, accountId, '', 'test', null, generateSecret(undefined, isTest)),
  'key-rotated': (sql, { id }) => rotateKey(sql, id, 3600, 'test'),
  'key-renamed': (sql, { id }) => renameKey(sql, id, `name ${++unique}`, 'test'),
  'key-revoked': (sql, { id }) => revokeKey(sql, id, 'test'),
  'key-expiry-changed': (sql, { id }) => expireKey(sql, id, later(), 'test'),
  'key-limited': (sql, { id }) => limitKey(sql, id, { only: ['search'] }, 'test'),
  'key-secret-ended': (sql, { id }) => endPreviousSecrets(sql, id, 'test'),
});

const database = await createTestDatabase('key_room');
const sql = connectPostgres(database.url, { max: 12 });
afterAll(async () => {
  await sql.end({ timeout: 5 });
  await database.drop();
});

describe.each([
  ['test keys', true, 5],
  ['keys of the plan Free', false, 2],
] as const)('%s', (_name, isTest, room) => {
  const newAccount = async () => (await createAccount(sql, { name: '', plan: 'free' }, 'test')).id;
  const create = (accountId: string, expires: Date | null = null) =>
    createKey(sql, accountId, '', 'test', expires, generateSecret(undefined, isTest));
  const inAnHour = () => new Date(Date.now() + 3_600_000);

  async function working(accountId: string): Promise<number> {
    const rows =
      await sql`SELECT 1 FROM api_keys WHERE account_id = ${accountId} AND is_test = ${isTest} AND ends_at > now()`;
    return rows.length;
  }

  /** A key that has expired, and one that was revoked, of an account that then got `count` others. */
  async function endedBeside(count: number) {
    const accountId = await newAccount();
    const { id: expired } = await create(accountId, inAnHour());
    await sql`UPDATE api_keys SET expires_at = now() WHERE id = ${expired}`;
    const { id: revoked } = await create(accountId);
    await revokeKey(sql, revoked, 'test');
    for (let made = 0; made < count; made += 1) await create(accountId);
    return { accountId, ended: [expired, revoked] };
  }

  const changes = changesOfKeys(isTest);

  test.each(Object.entries(changes))(
    '%s makes no ended key work beside as many as there is room for',
    async (_kind, change) => {
      const { accountId, ended } = await endedBeside(room);
      for (const id of ended) await change(sql, { id, accountId }).catch(expectRefusal);
      expect(await working(accountId)).toBe(room);
    },
  );

  test('of all changes at once for the last place one gets it', async () => {
    const { accountId, ended } = await endedBeside(room - 1);
    const all = [...Object.entries(changes), ...Object.entries(changes)];
    const some = all.filter(([kind]) => kind !== 'key-revoked');
    await Promise.all(
      ended.flatMap((id) => some.map(([, change]) => change(sql, { id, accountId }).catch(expectRefusal))),
    );
    expect(await working(accountId)).toBe(room);
  });

  test('a key that expires while its new end waits for a lock gets it only if its place is still there', async () => {
    const accountId = await newAccount();
    for (let made = 1; made < room; made += 1) await create(accountId);
    const { id } = await create(accountId, new Date(Date.now() + 1000));
    const lock = await lockRow(sql, id, 'api_keys');
    const outcome = expireKey(sql, id, inAnHour(), 'test').catch((error) => error);
    await waitingForLock(sql, 1);
    await eventually(() => working(accountId), room - 1);
    await create(accountId);
    await lock.release();
    expect(await outcome).toBeInstanceOf(TooManyKeysError);
    expect(await working(accountId)).toBe(room);
  });
});

function expectRefusal(error: unknown): void {
  expect(error).toBeInstanceOf(RefusedError);
}

const ROUNDS = 6;

const CHANGES: [string, Change][] = [
  ...Object.entries(changesOfKeys(false)),
  ['deleted', (sql, { accountId }) => deleteAccount(sql, accountId, 'test')],
];
const PAIRS = CHANGES.flatMap(([one, first], index) =>
  CHANGES.slice(index).map(([other, second]) => [one, other, first, second] as const),
);

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
    for (const outcome of outcomes) if (outcome.status === 'rejected') expectRefusal(outcome.reason);
  });
});
