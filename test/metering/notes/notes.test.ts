/** Uses of keys, counts of error answers and answers of the activity: a lock or a failure of one kind loses nothing of another. */
import { afterAll, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { setSuspended } from '../../../src/metering/accounts/changes.ts';
import { readActivity } from '../../../src/metering/activity/activity-store.ts';
import { createAuthenticator } from '../../../src/metering/keys/authenticate.ts';
import { endPreviousSecrets } from '../../../src/metering/keys/expire.ts';
import { findKeyDetails } from '../../../src/metering/keys/key-details.ts';
import { revokeKey } from '../../../src/metering/keys/key-store.ts';
import { rotateKey } from '../../../src/metering/keys/rotate.ts';
import { generateSecret } from '../../../src/metering/keys/secret.ts';
import { createNotes } from '../../../src/metering/notes/notes.ts';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';
import { noteProblem } from '../../support/notes.ts';
import { createCaller } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const database = await createTestDatabase('notes');
const { sql } = database;
const impatient = connectPostgres(database.url, { max: 2, lockTimeoutMs: 50 });
afterAll(async () => {
  await impatient.end();
  await database.drop();
});

/** Notes one of each kind. */
async function noteAll(notes: ReturnType<typeof createNotes>) {
  const caller = await createCaller(sql);
  const [{ hash }] = (await sql`
    SELECT encode(secret_sha256, 'base64') AS hash FROM api_keys WHERE id = ${caller.keyId}`) as unknown as [
    { hash: string },
  ];
  notes.used(hash);
  noteProblem(notes, caller, 'validation', { trace: { callId: randomUUID() } });
  return caller;
}

/** How many of each kind are stored: uses, counts, rows of the activity. */
async function storedOf({ accountId, keyId }: { accountId: string; keyId: string }) {
  const [row] = await sql<{ uses: number; counts: number }[]>`
    SELECT (SELECT count(*)::int FROM api_key_uses JOIN api_keys USING (secret_sha256) WHERE id = ${keyId}) AS uses,
      (SELECT coalesce(sum(calls), 0)::int FROM key_counts WHERE account_id = ${accountId}) AS counts`;
  return [row!.uses, row!.counts, (await readActivity(sql, accountId, null)).rows.length];
}

test.each([
  ['the numbers of the activity are locked', 'SELECT FROM activity_numbers FOR UPDATE', [1, 1, 0]],
  ['the counts are locked', 'LOCK TABLE daily_counts IN EXCLUSIVE MODE', [0, 0, 1]],
  ['the uses are locked', 'LOCK TABLE api_key_uses IN EXCLUSIVE MODE', [0, 0, 1]],
])('while %s the other notes are written, and these with the next write', async (_what, lock, meanwhile) => {
  const notes = createNotes(impatient);
  const caller = await noteAll(notes);
  await sql.begin(async (locking) => {
    await locking.unsafe(lock);
    await notes.write();
    expect(await storedOf(caller)).toEqual(meanwhile);
  });
  await notes.write();
  expect(await storedOf(caller)).toEqual([1, 1, 1]);
  await notes.write();
  expect(await storedOf(caller)).toEqual([1, 1, 1]);
});

test('a failure that Postgres answers is thrown after the others are written, and loses nothing', async () => {
  const notes = createNotes(sql);
  const caller = await noteAll(notes);
  await sql`ALTER FUNCTION make_activity_days() RENAME TO no_activity_days`;
  await expect(notes.write()).rejects.toThrow('make_activity_days');
  expect(await storedOf(caller)).toEqual([1, 1, 0]);
  await sql`ALTER FUNCTION no_activity_days() RENAME TO make_activity_days`;
  await notes.write();
  expect(await storedOf(caller)).toEqual([1, 1, 1]);
});

test('without an activity counts and uses are kept', async () => {
  const notes = createNotes(sql, { keepsActivity: false });
  const caller = await noteAll(notes);
  await notes.write();
  expect(await storedOf(caller)).toEqual([1, 1, 0]);
});

const uses = createNotes(sql);
const refused: string[] = [];
const authenticator = await createAuthenticator(sql, {
  used: uses.used,
  refused: ({ keyId }) => void refused.push(keyId),
});
afterAll(() => authenticator.close());

const lastUses = async (id: string) =>
  (await findKeyDetails(sql, id))!.secrets.map(({ lastUsed }) => lastUsed?.getTime() ?? null);

test('uses are written to the minute, each secret apart, and an earlier one never replaces a later one', async () => {
  const { key, keyId } = await createCaller(sql);
  await uses.write();
  expect(await lastUses(keyId)).toEqual([null]);
  const sinceMs = Date.now();
  await authenticator.authenticate(key);
  await uses.write();
  const [first] = await lastUses(keyId);
  expect(first! % 60_000).toBe(0);
  expect(first!).toBeWithin(sinceMs - 60_000, Date.now() + 1);
  const { secret } = await rotateKey(sql, keyId, 3600, 'test');
  expect(await lastUses(keyId)).toEqual([null, first!]);
  await sql`UPDATE api_key_uses SET used_at = '2999-01-01T00:00:00Z'`;
  for (const each of [key, secret]) await authenticator.authenticate(each);
  await uses.write();
  const [current, previous] = await lastUses(keyId);
  expect([current! >= first!, previous]).toEqual([true, Date.parse('2999-01-01T00:00:00Z')]);
});

test('a secret that is refused counts for its key, again from the cache, and a secret that never was one for none', async () => {
  const { key, keyId, accountId } = await createCaller(sql);
  const isRefused = async (secret: string) => (await authenticator.authenticate(secret)) === null;
  const { secret } = await rotateKey(sql, keyId, 3600, 'test');
  await endPreviousSecrets(sql, keyId, 'test');
  await until('the end of the old secret', () => isRefused(key));
  await setSuspended(sql, accountId, true, 'test');
  await until('the suspension', () => isRefused(secret));
  await setSuspended(sql, accountId, false, 'test');
  await until('the resumption', async () => !(await isRefused(secret)));
  await revokeKey(sql, keyId, 'test');
  await until('the revocation', () => isRefused(secret));
  expect([...new Set(refused)]).toEqual([keyId]);
  const before = refused.length;
  for (let count = 0; count < 3; count += 1) await isRefused(secret);
  await isRefused(generateSecret());
  await isRefused(`svc_${'x'.repeat(39)}!`);
  expect(refused.length).toBe(before + 3);
});
