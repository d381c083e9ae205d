import { afterAll, expect, test } from 'bun:test';
import { createAccount, requireAccount } from '../../../src/metering/accounts/account-store.ts';
import { findKey, pageOfKeys } from '../../../src/metering/keys/key-list.ts';
import { type ApiKey, createKey, listKeys, revokeKey } from '../../../src/metering/keys/key-store.ts';
import { generateSecret, hashSecret } from '../../../src/metering/keys/secret.ts';
import { inPages } from '../../../src/platform/postgres/batches.ts';
import { createTestDatabase } from '../../support/database.ts';
import { createAccountAt } from '../accounts/account-at.ts';

const database = await createTestDatabase('keys');
const sql = database.sql;
afterAll(() => database.drop());

const newAccount = async (plan: 'free' | 'plus' = 'free') =>
  (await createAccount(sql, { name: 'Test', plan }, 'test')).id;

test('of a secret only its SHA-256 and its first ten characters are stored, in whatever table', async () => {
  const { id, secret } = await createKey(sql, await newAccount(), 'production', 'test');
  const [row] = await sql`SELECT start, secret_sha256 FROM api_keys WHERE id = ${id}`;
  expect(row!.start).toBe(secret.slice(0, 10));
  expect(Buffer.compare(row!.secret_sha256, hashSecret(secret))).toBe(0);
  const tables = await sql<{ name: string }[]>`
    SELECT quote_ident(table_name) AS name FROM information_schema.tables
    WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'`;
  expect(tables.length).toBeGreaterThan(4);
  for (const { name } of tables) {
    const rows = await sql.unsafe(`SELECT count(*) AS found FROM ${name} t WHERE strpos(t::text, $1) > 0`, [
      secret.slice(10),
    ]);
    expect([name, rows[0]!.found]).toEqual([name, 0]);
  }
});

test('a list shows the first characters, when and whether revoked; never the secret', async () => {
  const account = await newAccount();
  const first = await createKey(sql, account, 'one', 'test');
  const second = await createKey(sql, account, '', 'test');
  const { revoked } = await revokeKey(sql, first.id, 'test');
  const keys = await listKeys(sql, account);
  const none = {
    ...{ test: false, connection: false, expires: null, previousUntil: null },
    ...{ budget: null, only: null, requests_per_minute: null },
  };
  expect(keys.map(({ created, ...key }) => ({ ...key }))).toEqual([
    { ...none, id: first.id, name: 'one', start: first.secret.slice(0, 10), revoked },
    { ...none, id: second.id, name: '', start: second.secret.slice(0, 10), revoked: null },
  ]);
});

test('an account has five test keys, and they take no place of its plan', async () => {
  const account = await newAccount();
  const createTestKey = (expires: Date | null = null) =>
    createKey(sql, account, '', 'test', expires, generateSecret(undefined, true));
  const first = await createTestKey();
  for (let count = 1; count < 5; count += 1) await createTestKey();
  await expect(createTestKey()).rejects.toThrow('5 test keys');
  expect((await requireAccount(sql, account)).keys).toBe(0);
  await createKey(sql, account, '', 'test');
  await createKey(sql, account, '', 'test');
  await revokeKey(sql, first.id, 'test');
  await createTestKey(new Date(Date.now() + 60_000));
  expect((await requireAccount(sql, account)).keys).toBe(2);
});

test('an account whose Plus has lapsed has room for the keys of Free', async () => {
  const lapsed = await createAccountAt(sql, new Date('2026-03-01T00:00:00Z'), {
    plan: 'plus',
    periodStart: new Date('2026-01-01T00:00:00Z'),
    until: new Date('2026-02-01T00:00:00Z'),
  });
  await createKey(sql, lapsed, '', 'test');
  await createKey(sql, lapsed, '', 'test');
  await expect(createKey(sql, lapsed, '', 'test')).rejects.toThrow('its plan allows 2');
});

/** Stores keys that were created `daysAgo` days ago, each revoked a second after the one before it unless they are active. */
async function storeKeys(accountId: string, count: number, daysAgo: number, state: 'active' | 'revoked') {
  await sql`
    INSERT INTO api_keys (id, account_id, name, start, secret_sha256, created_at, revoked_at)
    SELECT ${`key_${accountId}_${daysAgo}_`} || n, ${accountId}, 'stored ' || n, 'svc_', sha256(gen_random_uuid()::text::bytea),
      now() - ${daysAgo} * interval '1 day' + n * interval '1 millisecond',
      CASE WHEN ${state === 'revoked'} THEN now() - interval '1 hour' + n * interval '1 second' END
    FROM generate_series(1, ${count}) AS n`;
}

const createFive = (account: string) =>
  Promise.allSettled(Array.from({ length: 5 }, () => createKey(sql, account, '', 'test')));

test.each([
  ['free', 20],
  ['plus', 1000],
] as const)(
  '%s creates %d keys in 24 hours, revoked ones included, and no more at once or one by one',
  async (plan, perDay) => {
    const account = await newAccount(plan);
    await storeKeys(account, 3000, 1.01, 'revoked');
    await storeKeys(account, perDay - 2, 0.5, 'revoked');
    const outcomes = await createFive(account);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    const pages = await Array.fromAsync(inPages<ApiKey>((last) => listKeys(sql, account, last)));
    expect(pages.flat()).toHaveLength(3000 + perDay);
    for (const key of pages.flat()) if (key.revoked === null) await revokeKey(sql, key.id, 'test');
    await expect(createKey(sql, account, '', 'test')).rejects.toThrow(
      `created ${perDay} keys in the last 24 hours, and its plan allows ${perDay}`,
    );
    const events =
      await sql`SELECT 1 FROM account_events WHERE account_id = ${account} AND kind = 'key-created'`;
    expect(events).toHaveLength(2);
    await sql`UPDATE api_keys SET created_at = created_at - interval '1 day' WHERE account_id = ${account}`;
    await createKey(sql, account, '', 'test');
  },
);

test('Plus has room for 10,000 active keys; five at once for the last two places get two', async () => {
  const account = await newAccount('plus');
  await storeKeys(account, 9_998, 30, 'active');
  const outcomes = await createFive(account);
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
  await expect(createKey(sql, account, '', 'test')).rejects.toThrow(
    'the account has 10000 keys, and its plan allows 10000',
  );
  await revokeKey(sql, `key_${account}_30_1`, 'test');
  await createKey(sql, account, '', 'test');
});

test('pages have 100 active keys each, the latest first, and each key stands on one of them', async () => {
  const account = await newAccount('plus');
  await storeKeys(account, 150, 2, 'active');
  await storeKeys(account, 30, 3, 'revoked');
  // As many of the same instant.
  await sql`UPDATE api_keys SET created_at = now() - interval '4 days' WHERE account_id = ${account} AND name < 'stored 5'`;
  const first = await pageOfKeys(sql, account);
  const before = first.active.at(-1)!.id;
  const second = await pageOfKeys(sql, account, { before });
  expect([first.active.length, first.hasOlder]).toEqual([100, true]);
  expect([second.active.length, second.hasOlder]).toEqual([50, false]);
  const names = [...first.active, ...second.active].map(({ name }) => name);
  expect(new Set(names).size).toBe(150);
  expect(names[0]).toBe('stored 99');
  const elsewhere = await pageOfKeys(sql, await newAccount(), { before });
  expect(elsewhere).toEqual({ active: [], hasOlder: false, ended: [], hasMoreEnded: false });
  expect((await pageOfKeys(sql, account, { before: 'key_none' })).active).toEqual([]);
});

test('beside them stand the 50 keys that ended last: revoked, or expired', async () => {
  const account = await newAccount('plus');
  await storeKeys(account, 60, 3, 'revoked');
  await storeKeys(account, 3, 2, 'active');
  await sql`
    UPDATE api_keys SET expires_at = now() - interval '1 second'
    WHERE account_id = ${account} AND name = 'stored 3' AND revoked_at IS NULL`;
  const { active, ended, hasMoreEnded } = await pageOfKeys(sql, account);
  expect(active.map(({ name }) => name)).toEqual(['stored 2', 'stored 1']);
  expect(ended.map(({ name, revoked }) => [name, revoked === null])).toEqual([
    ['stored 3', true],
    ...Array.from({ length: 49 }, (_, n) => [`stored ${60 - n}`, false]),
  ]);
  expect(hasMoreEnded).toBe(true);
});

test('a key is found by its id in its own account only', async () => {
  const [own, other] = [await newAccount(), await newAccount()];
  const { id } = await createKey(sql, own, 'mine', 'test');
  expect(await findKey(sql, own, id)).toMatchObject({ id, name: 'mine', revoked: null });
  expect(await findKey(sql, other, id)).toBeNull();
  expect(await findKey(sql, own, 'key_none')).toBeNull();
});

test('revoking twice keeps the first date and leaves one row in the ledger', async () => {
  const account = await newAccount();
  const { id } = await createKey(sql, account, '', 'test');
  const first = await revokeKey(sql, id, 'cli:ana');
  expect(await revokeKey(sql, id, 'cli:rui')).toEqual(first);
  const events = await sql`
    SELECT actor, detail FROM account_events WHERE account_id = ${account} AND kind = 'key-revoked'`;
  expect(events.map((row) => ({ ...row }))).toEqual([{ actor: 'cli:ana', detail: { key: id } }]);
});

test('unknown accounts and keys are refused in one line', async () => {
  await expect(createKey(sql, 'acc_none', '', 'test')).rejects.toThrow('there is no account "acc_none"');
  await expect(listKeys(sql, 'acc_none')).rejects.toThrow('there is no account "acc_none"');
  await expect(revokeKey(sql, 'key_none', 'test')).rejects.toThrow('there is no key "key_none"');
});
