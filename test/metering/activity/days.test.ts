/** The days that are kept, and what a deletion removes. */
import { afterAll, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { deleteAccount } from '../../../src/dashboard/account-data/wings.ts';
import { problem } from '../../../src/http/answer.ts';
import { listActivity, readActivity } from '../../../src/metering/activity/activity-store.ts';
import { purgeActivity } from '../../../src/metering/activity/purge.ts';
import { NOTHING_PAID } from '../../../src/metering/admission/quote.ts';
import { chargeCalls } from '../../../src/metering/credits/charge-calls.ts';
import { rollUpCalls } from '../../../src/metering/credits/rollup.ts';
import { createNotes } from '../../../src/metering/notes/notes.ts';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import { storeActivity } from '../../support/activity.ts';
import { createTestDatabase } from '../../support/database.ts';
import { waitingForLock } from '../../support/locks.ts';
import { createCaller } from '../../support/service.ts';
import { callOf } from './activity-calls.ts';

const database = await createTestDatabase('activity_days');
const sql = database.sql;
afterAll(() => database.drop());

const partitions = async () => {
  const rows = await sql<{ name: string }[]>`
    SELECT relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
    WHERE inhparent = 'activity_parts'::regclass ORDER BY relname`;
  return rows.map(({ name }) => name);
};
const nameOf = (daysAgo: number) =>
  `activity_${new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '')}`;

/** A partition of an earlier day, with a row of the account. */
async function storeDay(accountId: string, daysAgo: number): Promise<void> {
  const at = new Date(Date.now() - daysAgo * 86_400_000);
  const day = at.toISOString().slice(0, 10);
  const bound = (to: string) => `${Date.parse(to) * 1000}`;
  const next = new Date(Date.parse(day) + 86_400_000).toISOString();
  await sql.unsafe(
    `CREATE TABLE ${nameOf(daysAgo)} PARTITION OF activity_parts FOR VALUES FROM (${bound(day)}) TO (${bound(next)})`,
  );
  const taken = sql`activity_number(${at}) - 1`;
  await storeActivity(sql, { accountId, rows: 1, at, credits: daysAgo, taken });
}

test('whole days go once they are over, by the dropping of their table, and a reader sees none of them', async () => {
  const { accountId } = await createCaller(sql);
  for (const daysAgo of [3, 2, 1]) await storeDay(accountId, daysAgo);
  const reader = await sql.reserve();
  await reader.unsafe(`BEGIN; SELECT FROM ${nameOf(3)}`);
  await purgeActivity(sql, 2);
  // A backup reads it, and readers see none of it.
  expect(await partitions()).toEqual([3, 2, 1, 0, -1].map(nameOf));
  const daysOf = async () => (await readActivity(sql, accountId, null)).rows.map(({ credits }) => credits);
  expect(await daysOf()).toEqual([2, 1]);
  await reader.unsafe('COMMIT');
  reader.release();
  await purgeActivity(sql, 2);
  expect(await partitions()).toEqual([2, 1, 0, -1].map(nameOf));
  await Promise.all([purgeActivity(sql, 1), purgeActivity(sql, 1)]);
  expect(await daysOf()).toEqual([1]);
  const { removed, last } = await readActivity(sql, accountId, null);
  expect(last).toBeGreaterThan(removed);
  // More days bring nothing back.
  await purgeActivity(sql, 90);
  expect((await readActivity(sql, accountId, null)).removed).toBe(removed);
});

test('the table of a new day is made by the first write, beside a backup that reads the activity', async () => {
  const { accountId } = await createCaller(sql);
  for (const name of await partitions()) await sql.unsafe(`DROP TABLE ${name}`);
  const backup = await sql.reserve();
  await backup.unsafe('BEGIN; LOCK TABLE activity_parts IN ACCESS SHARE MODE');
  await chargeCalls(sql, [callOf(accountId)], randomUUID());
  await Promise.all([rollUpCalls(sql), rollUpCalls(sql)]);
  expect(await partitions()).toEqual([nameOf(0), nameOf(-1)]);
  expect((await readActivity(sql, accountId, null)).rows).toHaveLength(1);
  await backup.unsafe('COMMIT');
  backup.release();
});

test('a deletion removes an account’s activity, and no roll-up or note that waited for it writes any', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  const other = await createCaller(sql, { included: 10 });
  const charge = () => chargeCalls(sql, [callOf(accountId), callOf(other.accountId)], randomUUID());
  await charge();
  await rollUpCalls(sql);
  await charge();
  // The deletion waits with its last step, when it has the numbers.
  const gate = await sql.reserve();
  await gate.unsafe(`BEGIN; LOCK TABLE activity_parts IN ROW SHARE MODE`);
  await gate`SELECT FROM activity_parts WHERE account_id = ${accountId} FOR UPDATE`;
  const deleting = connectPostgres(database.url, { max: 1 });
  const deletion = deleting.begin(async (transaction) => {
    await transaction`SELECT take_activity_numbers(0)`;
    await transaction`UPDATE accounts SET deleted_at = now(), suspended_at = now() WHERE id = ${accountId}`;
    await transaction`DELETE FROM activity_parts WHERE account_id = ${accountId}`;
  });
  await waitingForLock(sql, 1);
  const notes = createNotes(sql);
  for (const id of [accountId, other.accountId])
    notes.answered(
      { accountId: id, keyId: 'key_a' },
      { callId: randomUUID() },
      problem('validation'),
      NOTHING_PAID,
    );
  const writes = [rollUpCalls(sql), notes.write()];
  await waitingForLock(sql, 3);
  await gate`COMMIT`;
  gate.release();
  await Promise.all([deletion, ...writes]);
  expect((await readActivity(sql, accountId, null)).rows).toEqual([]);
  expect((await readActivity(sql, other.accountId, null)).rows).toHaveLength(3);
  await deleting.end();
});

test('account delete removes the activity', async () => {
  const { accountId } = await createCaller(sql, { included: 5000 });
  await chargeCalls(
    sql,
    Array.from({ length: 400 }, () => callOf(accountId)),
    randomUUID(),
  );
  await rollUpCalls(sql);
  await deleteAccount(sql, accountId, 'test');
  await chargeCalls(sql, [callOf(accountId)], randomUUID());
  await rollUpCalls(sql);
  expect(await sql`SELECT FROM activity WHERE account_id = ${accountId}`).toHaveLength(0);
});

test('notes that wait in vain for their turn are written with the next ones, twenty of an account at most', async () => {
  const { accountId } = await createCaller(sql);
  const impatient = connectPostgres(database.url, { max: 1, lockTimeoutMs: 50 });
  const notes = createNotes(impatient);
  const note = (count: number) => {
    for (let n = 0; n < count; n += 1)
      notes.answered(
        { accountId, keyId: '' },
        { callId: randomUUID(), endpoint: 'GET /usage' },
        problem('rate-limit-exceeded'),
        NOTHING_PAID,
      );
  };
  const holder = await sql.reserve();
  await holder.unsafe('BEGIN; SELECT FROM activity_numbers FOR UPDATE');
  note(15);
  await notes.write();
  note(25);
  await notes.write();
  await holder.unsafe('COMMIT');
  holder.release();
  await notes.write();
  await notes.write();
  const { rows } = await readActivity(sql, accountId, null);
  expect(rows).toHaveLength(21);
  expect(rows.map(({ unlisted }) => unlisted).filter((unlisted) => unlisted !== null)).toEqual([20]);
  expect(rows[0]).toMatchObject({
    kind: 'answer',
    status: 429,
    problem: 'rate-limit-exceeded',
    key: null,
    credits: 0,
  });
  await impatient.end();
});

test('notes that wait for their turn have the same bound as new ones', async () => {
  const impatient = connectPostgres(database.url, { max: 1, lockTimeoutMs: 50 });
  const notes = createNotes(impatient, { maxRows: 3 });
  const callers = await Promise.all([createCaller(sql), createCaller(sql)]);
  const noteOfEach = () => {
    for (const { accountId } of callers)
      for (const keyId of ['key_a', 'key_b'])
        notes.answered({ accountId, keyId }, { callId: randomUUID() }, problem('validation'), NOTHING_PAID);
  };
  const holder = await sql.reserve();
  await holder.unsafe('BEGIN; SELECT FROM activity_numbers FOR UPDATE');
  noteOfEach();
  const writing = notes.write();
  noteOfEach();
  await writing;
  await holder.unsafe('COMMIT');
  holder.release();
  await notes.write();
  const pages = await Promise.all(callers.map(({ accountId }) => readActivity(sql, accountId, null)));
  const rows = pages.flatMap((page) => page.rows);
  const [listed, others] = [
    rows.filter(({ unlisted }) => unlisted === null),
    rows.map((row) => row.unlisted ?? 0),
  ];
  expect([listed.length, others.reduce((sum, count) => sum + count, 0)]).toEqual([3, 5]);
  await impatient.end();
});

test('a list is filtered by key, endpoint, outcome, day and request, and read in parts from either end', async () => {
  const { accountId } = await createCaller(sql, { included: 100 });
  const own = randomUUID();
  const at = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000);
  await chargeCalls(
    sql,
    [
      callOf(accountId, { keyId: 'a' }),
      callOf(accountId, { keyId: 'b', activity: `${own}\tGET /companies\torder-1`, credits: 2 }),
      callOf(accountId, { keyId: 'a', activity: `${randomUUID()}\tGET /companies\torder-1`, credits: 3 }),
    ],
    randomUUID(),
  );
  await rollUpCalls(sql);
  const notes = createNotes(sql);
  for (const kind of ['validation', 'rate-limit-exceeded', 'internal-error'] as const)
    notes.answered(
      { accountId, keyId: 'b' },
      { callId: randomUUID(), endpoint: 'GET /usage' },
      problem(kind),
      NOTHING_PAID,
    );
  await notes.write();
  const all = { order: 'DESC', rows: 100 } as const;
  const found = async (
    filter: Parameters<typeof listActivity>[2],
    slice: Parameters<typeof listActivity>[3] = all,
  ) => (await listActivity(sql, accountId, filter, slice)).map(({ credits, problem }) => problem ?? credits);
  const answers = (await found({ problems: true })).toSorted();
  expect(answers).toEqual(['internal-error', 'rate-limit-exceeded', 'validation']);
  expect((await found({ key: 'a' })).toSorted()).toEqual([1, 3]);
  expect((await found({ request: 'order-1' })).toSorted()).toEqual([2, 3]);
  expect(await found({ request: own })).toEqual([2]);
  expect(await found({ key: 'a', problems: false, day: at(0).toISOString().slice(0, 10) })).toHaveLength(2);
  expect(await found({ day: at(1).toISOString().slice(0, 10) })).toEqual([]);
  expect(await found({ from: at(-1) })).toEqual([]);
  expect(await found({ from: at(1) })).toHaveLength(6);
  for (const order of ['ASC', 'DESC'] as const) {
    const whole = await listActivity(sql, accountId, {}, { order, rows: 100 });
    const first = await listActivity(sql, accountId, {}, { order, rows: 4 });
    const rest = await listActivity(sql, accountId, {}, { order, rows: 4, behind: first.at(-1)!.number });
    expect([...first, ...rest]).toEqual(whole);
  }
});
