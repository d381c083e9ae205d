/** Uses of keys, counts of error answers and answers of the activity: a lock or a failure of one kind loses nothing of another. */

import { afterAll, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { readActivity } from '../../../src/metering/activity/store.ts';
import { createNotes } from '../../../src/metering/notes/notes.ts';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';
import { noteProblem } from '../../support/notes.ts';
import { createCaller } from '../../support/service.ts';

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
