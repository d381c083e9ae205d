/** Uses of keys, counts of error answers and answers of the activity: a lock or a failure of one kind loses nothing of another. */
import { afterAll, expect, setSystemTime, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { deleteAccount, removeExpired } from '../../../src/dashboard/account-data/wings.ts';
import { setSuspended } from '../../../src/metering/accounts/changes.ts';
import { readActivity } from '../../../src/metering/activity/activity-store.ts';
import { createAuthenticator } from '../../../src/metering/keys/authenticate.ts';
import { endPreviousSecrets } from '../../../src/metering/keys/expire.ts';
import { requireKeyDetails } from '../../../src/metering/keys/key-details.ts';
import { createKey, revokeKey } from '../../../src/metering/keys/key-store.ts';
import { rotateKey } from '../../../src/metering/keys/rotate.ts';
import { generateSecret, hashSecret } from '../../../src/metering/keys/secret.ts';
import { createNotes } from '../../../src/metering/notes/notes.ts';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import { storeErrorCounts } from '../../support/counts.ts';
import { createTestDatabase } from '../../support/database.ts';
import { lockRow, waitingForLock } from '../../support/locks.ts';
import { noteProblem } from '../../support/notes.ts';
import { startProxy } from '../../support/proxy.ts';
import { createCaller, createTestKey } from '../../support/service.ts';
import { eventually, until } from '../../support/until.ts';

const database = await createTestDatabase('notes');
const { sql } = database;
const impatient = connectPostgres(database.url, { max: 2, lockTimeoutMs: 50 });
const proxy = await startProxy(database.url);
const behindProxy = connectPostgres(proxy.url(database.url), { max: 2 });
afterAll(async () => {
  await Promise.all([impatient, behindProxy].map((pool) => pool.end({ timeout: 1 })));
  await proxy.close();
  await database.drop();
});

/** Notes one of each kind. */
async function noteAll(notes: ReturnType<typeof createNotes>) {
  const caller = await createCaller(sql);
  notes.used(hashSecret(caller.key).toString('base64'));
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

const LATER = 'the other notes are written, and these with the next write';
test.each([
  ['the numbers of the activity are locked', LATER, 'SELECT FROM activity_numbers FOR UPDATE', [1, 1, 0]],
  ['the counts are locked', LATER, 'LOCK TABLE daily_counts IN EXCLUSIVE MODE', [0, 0, 1]],
  ['the uses are locked', LATER, 'LOCK TABLE api_key_uses IN EXCLUSIVE MODE', [0, 0, 1]],
  ['all accounts are locked', 'notes of all kinds are written', 'SELECT FROM accounts FOR UPDATE', [1, 1, 1]],
])('while %s %s', async (_what, _happens, lock, meanwhile) => {
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
  refused(key) {
    refused.push(key.keyId);
    noteProblem(uses, key, 'unauthorized');
  },
});
afterAll(() => authenticator.close());

const lastUses = async (id: string) =>
  (await requireKeyDetails(sql, id)).secrets.map(({ lastUsed }) => lastUsed?.getTime() ?? null);

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

/** The stored counts of an account: key and kind, and the number of answers. */
async function countsOf(accountId: string, from = sql): Promise<Record<string, number>> {
  const rows = await from`
    SELECT key_id || ' ' || kind AS name, sum(calls)::bigint AS calls FROM key_counts
    WHERE account_id = ${accountId} AND is_error GROUP BY key_id, kind`;
  return Object.fromEntries(rows.map(({ name, calls }) => [name, calls]));
}

test('answers are told apart by account, key and kind, and added to those of earlier writes', async () => {
  const [one, other] = [await createCaller(sql), await createCaller(sql)];
  const errors = createNotes(sql);
  const limits = ['rate-limit-exceeded', 'monthly-quota-exceeded'] as const;
  const ofCaller = ['validation', 'company-not-found'] as const;
  const ofService = ['search-failed', 'company-lookup-failed', 'service-unavailable'] as const;
  for (let round = 1; round <= 2; round += 1) {
    for (const problem of [...limits, ...ofCaller, ...ofService]) noteProblem(errors, one, problem);
    noteProblem(errors, { ...one, keyId: '' }, 'validation');
    noteProblem(errors, other, 'internal-error');
    await errors.write();
    expect(await countsOf(one.accountId)).toEqual({
      [`${one.keyId} rate-limit-exceeded`]: round,
      [`${one.keyId} monthly-quota-exceeded`]: round,
      [`${one.keyId} 4xx`]: 2 * round,
      [`${one.keyId} 5xx`]: 3 * round,
      ' 4xx': round,
    });
    expect(await countsOf(other.accountId)).toEqual({ [`${other.keyId} 5xx`]: round });
  }
  await errors.write();
  expect(await countsOf(other.accountId)).toEqual({ [`${other.keyId} 5xx`]: 2 });
});

test('an answer belongs to its UTC day, also when it is written on a later one', async () => {
  const caller = await createCaller(sql);
  const errors = createNotes(sql);
  try {
    setSystemTime(new Date('2026-03-01T23:59:59.999Z'));
    noteProblem(errors, caller, 'validation');
    setSystemTime(new Date('2026-03-02T00:00:00Z'));
    noteProblem(errors, caller, 'validation');
    noteProblem(errors, caller, 'validation');
  } finally {
    setSystemTime();
  }
  await errors.write();
  const days = await sql`
    SELECT day::text, calls FROM key_counts WHERE is_error AND account_id = ${caller.accountId} ORDER BY day`;
  expect([...days]).toMatchObject([
    { day: '2026-03-01', calls: 1 },
    { day: '2026-03-02', calls: 2 },
  ]);
});

test('401s of keys that ended over 30 days ago share a row, however many keys they are, and test keys have none', async () => {
  const { accountId, keyId, key } = await createCaller(sql, { plan: 'plus' });
  const testKey = await createTestKey(sql, accountId);
  const others = [];
  for (let index = 0; index < 3; index += 1) others.push(await createKey(sql, accountId, '', 'test'));
  const endedAgo = (days: number) => sql`
    UPDATE api_keys SET created_at = now() - interval '1 year', revoked_at = now() - ${days} * interval '1 day'`;
  await sql`${endedAgo(29.9)} WHERE account_id = ${accountId}`;
  for (const { id } of others) await sql`${endedAgo(30.1)} WHERE id = ${id}`;
  for (const secret of [key, testKey, ...others.map((other) => other.secret)])
    await authenticator.authenticate(secret);
  await uses.write();
  expect(await countsOf(accountId)).toEqual({ [`${keyId} 401`]: 1, 'ended 401': 3 });
});

test('counts are kept for 13 months', async () => {
  const { accountId } = await createCaller(sql);
  await storeErrorCounts(
    sql,
    sql`
      SELECT ${accountId}::text, (now() AT TIME ZONE 'UTC')::date - interval '13 months' - days * interval '1 day', 'key_' || days, '4xx', 1
      FROM unnest(ARRAY[-1, 0, 1, 400]) AS days`,
  );
  await removeExpired(sql);
  expect(await countsOf(accountId)).toEqual({ 'key_-1 4xx': 1, 'key_0 4xx': 1 });
});

test('answers of a write that Postgres does not take are not counted, and later ones are', async () => {
  const caller = await createCaller(sql);
  await behindProxy`SELECT 1`;
  const errors = createNotes(behindProxy);
  noteProblem(errors, caller, 'service-unavailable');
  proxy.down();
  await expect(errors.write()).rejects.toThrow();
  proxy.up();
  noteProblem(errors, caller, 'service-unavailable');
  await errors.write();
  expect(await countsOf(caller.accountId)).toEqual({ [`${caller.keyId} 5xx`]: 1 });
});

test('answers that Postgres has written without acknowledging it are counted once', async () => {
  const caller = await createCaller(sql);
  const errors = createNotes(behindProxy);
  noteProblem(errors, caller, 'validation');
  await errors.write();
  noteProblem(errors, caller, 'validation');
  const lock = await lockRow(sql, caller.accountId, 'daily_counts');
  const unheard = expect(errors.write()).rejects.toThrow();
  await waitingForLock(sql, 1);
  proxy.hang();
  await lock.release();
  await eventually(() => countsOf(caller.accountId), { [`${caller.keyId} 4xx`]: 2 });
  await unheard;
  proxy.down();
  proxy.up();
  noteProblem(errors, caller, 'validation');
  await errors.write();
  expect(await countsOf(caller.accountId)).toEqual({ [`${caller.keyId} 4xx`]: 3 });
});

test('memory is bounded: what it has no room for is not counted', async () => {
  const callers = [await createCaller(sql), await createCaller(sql), await createCaller(sql)];
  const errors = createNotes(sql, { maxCounters: 2 });
  for (let round = 0; round < 3; round += 1) {
    for (const caller of callers) noteProblem(errors, caller, 'validation');
  }
  await errors.write();
  const counts = await Promise.all(callers.map(({ accountId }) => countsOf(accountId)));
  expect(counts.map((count) => Object.values(count))).toEqual([[3], [3], []]);
});

test('a deleted account has no counts, and gets none that were in memory', async () => {
  const caller = await createCaller(sql);
  const errors = createNotes(sql);
  noteProblem(errors, caller, 'validation');
  await errors.write();
  noteProblem(errors, caller, 'validation');
  await deleteAccount(sql, caller.accountId, 'test');
  await errors.write();
  expect(await countsOf(caller.accountId)).toEqual({});
});
