/** Changes of keys lock the key first, then its account, so that no two of them wait for each other. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { deleteAccount } from '../../../src/dashboard/account-data/wings.ts';
import { createAccount } from '../../../src/metering/accounts/store.ts';
import { rotateKey } from '../../../src/metering/keys/rotate.ts';
import { createKey } from '../../../src/metering/keys/store.ts';
import { RefusedError } from '../../../src/platform/errors.ts';
import { connectPostgres, type Sql } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';
import { type Change, changesOfKeys, type Key } from './changes.ts';

const ROUNDS = 6;

const CHANGES: [string, Change][] = [
  ...Object.entries(changesOfKeys(false)),
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
