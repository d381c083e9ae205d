import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createAccount } from '../../src/accounts/store.ts';
import { hashSecret } from '../../src/keys/secret.ts';
import { createKey, listKeys, revokeKey } from '../../src/keys/store.ts';
import type { Sql } from '../../src/postgres/connect.ts';
import { createAccountAt } from '../accounts/account-at.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let sql: Sql;
beforeAll(async () => {
  database = await createTestDatabase('keys');
  sql = database.sql;
});
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
  expect(keys.map(({ created, ...key }) => ({ ...key }))).toEqual([
    { id: first.id, name: 'one', start: first.secret.slice(0, 10), revoked },
    { id: second.id, name: '', start: second.secret.slice(0, 10), revoked: null },
  ]);
});

test('Free has two keys; a revoked one makes room', async () => {
  const account = await newAccount();
  const { id } = await createKey(sql, account, '', 'test');
  await createKey(sql, account, '', 'test');
  expect(createKey(sql, account, '', 'test')).rejects.toThrow('its plan allows 2');
  await revokeKey(sql, id, 'test');
  await createKey(sql, account, '', 'test');
  expect(createKey(sql, account, '', 'test')).rejects.toThrow('its plan allows 2');
});

test('five that ask for the two places at once get two keys', async () => {
  const account = await newAccount();
  const outcomes = await Promise.allSettled(
    Array.from({ length: 5 }, () => createKey(sql, account, '', 'test')),
  );
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
  expect(await listKeys(sql, account)).toHaveLength(2);
});

test('Plus has as many keys as it wants; once it lapses, those it has stay and no further one is made', async () => {
  const plus = await newAccount('plus');
  for (let count = 0; count < 5; count += 1) await createKey(sql, plus, '', 'test');
  expect(await listKeys(sql, plus)).toHaveLength(5);
  const lapsed = await createAccountAt(sql, new Date('2026-03-01T00:00:00Z'), {
    plan: 'plus',
    periodStart: new Date('2026-01-01T00:00:00Z'),
    until: new Date('2026-02-01T00:00:00Z'),
  });
  await createKey(sql, lapsed, '', 'test');
  await createKey(sql, lapsed, '', 'test');
  expect(createKey(sql, lapsed, '', 'test')).rejects.toThrow('its plan allows 2');
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
  expect(createKey(sql, 'acc_none', '', 'test')).rejects.toThrow('there is no account "acc_none"');
  expect(listKeys(sql, 'acc_none')).rejects.toThrow('there is no account "acc_none"');
  expect(revokeKey(sql, 'key_none', 'test')).rejects.toThrow('there is no key "key_none"');
});
