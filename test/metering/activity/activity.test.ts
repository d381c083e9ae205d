/** The activity: the days that are kept, what a deletion removes, and charges and returns as the ledger has them. */
import { afterAll, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { deleteAccount } from '../../../src/dashboard/account-data/wings.ts';
import { ok } from '../../../src/http/answer.ts';
import { listActivity, purgeActivity, readActivity } from '../../../src/metering/activity/activity-store.ts';
import { createCredits } from '../../../src/metering/credits/charge.ts';
import { chargeCalls } from '../../../src/metering/credits/charge-batch.ts';
import { refundOwed, voidAttempt } from '../../../src/metering/credits/refund.ts';
import { rollUpCalls, startCallRollup } from '../../../src/metering/credits/rollup.ts';
import { createNotes } from '../../../src/metering/notes/notes.ts';
import { createLogTo } from '../../../src/platform/observability/log.ts';
import { connectPostgres, type Transaction } from '../../../src/platform/postgres/connect.ts';
import { createCleanup } from '../../../src/platform/runtime/shutdown.ts';
import { DAY } from '../../../src/platform/units.ts';
import { storeActivity } from '../../support/activity.ts';
import { createTestDatabase } from '../../support/database.ts';
import { cancelWaiting, hold, waitingForLock } from '../../support/locks.ts';
import { noteProblem } from '../../support/notes.ts';
import { createCaller } from '../../support/service.ts';
import { callOf, rollUpAll } from '../credits/ledger.ts';

const database = await createTestDatabase('activity_days');
const sql = database.sql;
const impatient = connectPostgres(database.url, { max: 1, lockTimeoutMs: 300 });
afterAll(async () => {
  await impatient.end();
  await database.drop();
});

/** Works while another process has the turn of the activity's numbers. */
const inTurnOfAnother = (work: (other: Transaction) => Promise<unknown>) =>
  sql.begin(async (other) => {
    await other`SELECT FROM activity_numbers FOR UPDATE`;
    await work(other);
  });

const newCall = () => ({ trace: { callId: randomUUID(), endpoint: 'GET /usage' } });

const partitions = async () => {
  const rows = await sql<{ name: string }[]>`
    SELECT relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
    WHERE inhparent = 'activity_parts'::regclass ORDER BY relname`;
  return rows.map(({ name }) => name);
};
const ago = (days: number) => new Date(Date.now() - days * DAY);
const dayOf = (daysAgo: number) => ago(daysAgo).toISOString().slice(0, 10);
const nameOf = (daysAgo: number) => `activity_${dayOf(daysAgo).replaceAll('-', '')}`;

/** A partition of an earlier day, which is there if the database was made before midnight, with a row of the account. */
async function storeDay(accountId: string, daysAgo: number): Promise<void> {
  const at = ago(daysAgo);
  const [from, to] = [daysAgo, daysAgo - 1].map((day) => Date.parse(dayOf(day)) * 1000);
  await sql.unsafe(
    `CREATE TABLE IF NOT EXISTS ${nameOf(daysAgo)} PARTITION OF activity_parts FOR VALUES FROM (${from}) TO (${to})`,
  );
  const taken = sql`activity_number(${at}) - 1`;
  await storeActivity(sql, { accountId, rows: 1, at, credits: daysAgo, taken });
}

test('whole days go once they are over, by the dropping of their table, and a reader sees none of them', async () => {
  const { accountId } = await createCaller(sql);
  for (const daysAgo of [3, 2, 1]) await storeDay(accountId, daysAgo);
  const backup = await hold(sql, (sql) => sql.unsafe(`SELECT FROM ${nameOf(3)}`));
  await purgeActivity(sql, 2);
  // The backup reads it, and readers see none of it.
  expect(await partitions()).toEqual([3, 2, 1, 0, -1].map(nameOf));
  const daysOf = async () => (await readActivity(sql, accountId, null)).rows.map(({ credits }) => credits);
  expect(await daysOf()).toEqual([2, 1]);
  await backup.release();
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
  const backup = await hold(sql, (sql) => sql`LOCK TABLE activity_parts IN ACCESS SHARE MODE`);
  await chargeCalls(sql, [callOf(accountId)], randomUUID());
  await Promise.all([rollUpCalls(sql), rollUpCalls(sql)]);
  expect(await partitions()).toEqual([nameOf(0), nameOf(-1)]);
  expect((await readActivity(sql, accountId, null)).rows).toHaveLength(1);
  await backup.release();
});

test('a deletion removes an account’s activity, and no roll-up or note that waited for it writes any', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  const other = await createCaller(sql, { included: 10 });
  const charge = () => chargeCalls(sql, [callOf(accountId), callOf(other.accountId)], randomUUID());
  await charge();
  await rollUpCalls(sql);
  await charge();
  // The deletion waits with its last step, when it has the numbers.
  const gate = await hold(
    sql,
    (sql) => sql`SELECT FROM activity_parts WHERE account_id = ${accountId} FOR UPDATE`,
  );
  const deleting = connectPostgres(database.url, { max: 1 });
  const deletion = deleting.begin(async (transaction) => {
    await transaction`SELECT take_activity_numbers(0)`;
    await transaction`UPDATE accounts SET deleted_at = now(), suspended_at = now() WHERE id = ${accountId}`;
    await transaction`DELETE FROM activity_parts WHERE account_id = ${accountId}`;
  });
  await waitingForLock(sql, 1);
  const notes = createNotes(sql);
  for (const id of [accountId, other.accountId])
    noteProblem(notes, { accountId: id, keyId: 'key_a' }, 'validation', newCall());
  const writes = [rollUpCalls(sql), notes.write()];
  await waitingForLock(sql, 3);
  await gate.release();
  await Promise.all([deletion, ...writes]);
  expect((await readActivity(sql, accountId, null)).rows).toEqual([]);
  expect((await readActivity(sql, other.accountId, null)).rows).toHaveLength(3);
  await deleting.end();
});

test('account delete removes the activity', async () => {
  const { accountId } = await createCaller(sql, { included: 5000 });
  const calls = Array.from({ length: 400 }, () => callOf(accountId));
  await chargeCalls(sql, calls, randomUUID());
  await rollUpCalls(sql);
  await deleteAccount(sql, accountId, 'test');
  await chargeCalls(sql, [callOf(accountId)], randomUUID());
  await rollUpCalls(sql);
  expect(await sql`SELECT FROM activity WHERE account_id = ${accountId}`).toHaveLength(0);
});

test('notes that wait in vain for their turn are written before the next ones, twenty of an account at most in each write', async () => {
  const { accountId } = await createCaller(sql);
  const notes = createNotes(sql);
  const note = (count: number) => {
    for (let n = 0; n < count; n += 1)
      noteProblem(notes, { accountId, keyId: '' }, 'rate-limit-exceeded', newCall());
  };
  note(15);
  await inTurnOfAnother(async () => {
    for (const further of [15, 10]) {
      const writing = notes.write();
      await waitingForLock(sql, 1);
      note(further);
      await cancelWaiting(sql);
      await writing;
    }
  });
  await notes.write();
  const { rows } = await readActivity(sql, accountId, null);
  // The first 15, and 20 of the 25 that were noted while those waited.
  expect(rows).toHaveLength(36);
  expect(rows.map(({ unlisted }) => unlisted).filter((unlisted) => unlisted !== null)).toEqual([5]);
  const answer = {
    kind: 'answer',
    status: 429,
    problem: 'rate-limit-exceeded',
    key: null,
    credits: 0,
  } as const;
  expect(rows[0]).toMatchObject(answer);
});

test('notes that wait for their turn have the same bound as new ones', async () => {
  const notes = createNotes(impatient, { maxRows: 3 });
  const callers = await Promise.all([createCaller(sql), createCaller(sql)]);
  const noteOfEach = () => {
    for (const { accountId } of callers)
      for (const keyId of ['key_a', 'key_b'])
        noteProblem(notes, { accountId, keyId }, 'validation', newCall());
  };
  await inTurnOfAnother(async () => {
    for (let write = 0; write < 3; write += 1) {
      noteOfEach();
      await notes.write();
    }
  });
  await notes.write();
  const pages = await Promise.all(callers.map(({ accountId }) => readActivity(sql, accountId, null)));
  const rows = pages.flatMap((page) => page.rows);
  const unlisted = rows.flatMap((row) => row.unlisted ?? []);
  // Three that wait, and three that were noted meanwhile.
  expect(rows.length - unlisted.length).toBe(6);
  expect(unlisted.reduce((sum, count) => sum + count, 0)).toBe(6);
});

test('a list is filtered by key, endpoint, outcome, day and request, and read in parts from either end', async () => {
  const { accountId } = await createCaller(sql, { included: 100 });
  const own = randomUUID();
  const calls = [
    callOf(accountId, { keyId: 'a' }),
    callOf(accountId, { keyId: 'b', activity: `${own}\tGET /companies\torder-1`, credits: 2 }),
    callOf(accountId, { keyId: 'a', activity: `${randomUUID()}\tGET /companies\torder-1`, credits: 3 }),
  ];
  await chargeCalls(sql, calls, randomUUID());
  await rollUpCalls(sql);
  const notes = createNotes(sql);
  for (const kind of ['validation', 'rate-limit-exceeded', 'internal-error'] as const)
    noteProblem(notes, { accountId, keyId: 'b' }, kind, newCall());
  // A repetition is an answer without a problem.
  notes.answered({ accountId, keyId: 'b' }, newCall().trace, ok({}), { spent: 2, isRepeated: true });
  await notes.write();
  const found = async (filter: Parameters<typeof listActivity>[2]) => {
    const listed = await listActivity(sql, accountId, filter, { order: 'DESC', rows: 100 });
    return listed.map(({ credits, problem }) => problem ?? credits);
  };
  const answers = (await found({ problems: true })).toSorted();
  expect(answers).toEqual(['internal-error', 'rate-limit-exceeded', 'validation']);
  expect((await found({ key: 'a' })).toSorted()).toEqual([1, 3]);
  expect((await found({ request: 'order-1' })).toSorted()).toEqual([2, 3]);
  expect(await found({ request: own })).toEqual([2]);
  expect(await found({ key: 'a', problems: false, day: dayOf(0) })).toHaveLength(2);
  expect(await found({ day: dayOf(1) })).toEqual([]);
  expect(await found({ from: ago(-1) })).toEqual([]);
  expect(await found({ from: ago(1) })).toHaveLength(7);
  for (const order of ['ASC', 'DESC'] as const) {
    const part = (rows: number, end = {}) => listActivity(sql, accountId, {}, { order, rows, ...end });
    const first = await part(4);
    const rest = await part(4, { [order === 'ASC' ? 'above' : 'below']: first.at(-1)!.number });
    expect([...first, ...rest]).toEqual(await part(100));
  }
});

const rowsOf = async (accountId: string) => (await readActivity(sql, accountId, null)).rows;
const brief = async (accountId: string) =>
  (await rowsOf(accountId)).map(({ kind, key, credits }) => `${kind} ${key} ${credits}`);

test('a process that waits in vain for its turn leaves the calls to the next time, which is no fault for the log', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  await chargeCalls(sql, [callOf(accountId)], randomUUID());
  const lines: string[] = [];
  const tasks = createCleanup();
  const rollups = startCallRollup(impatient, createLogTo({ write: (line) => void lines.push(line) }), tasks);
  await inTurnOfAnother(() => rollups.run());
  expect([lines, await brief(accountId)]).toEqual([[], []]);
  await rollups.run();
  expect([lines, await brief(accountId)]).toEqual([[], ['charge key_a 1']]);
  await tasks.runInParallel();
});

test('a charge has the time, the key, the endpoint, the credits and the ids of its call, and so has its return', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  const [first, second] = [randomUUID(), randomUUID()];
  const credits = createCredits(sql);
  const call = callOf(accountId, { activity: `${first}\tGET /companies`, credits: 3 });
  const charge = await credits.charge(call);
  await credits.charge(callOf(accountId, { activity: `${second}\tget_company\torder-17`, keyId: '' }));
  await rollUpAll(sql);
  await charge.refund(2);
  await rollUpAll(sql);
  const [row] =
    await sql`SELECT min(at) AS first, max(at) AS last FROM call_journal WHERE ${accountId} = ANY (account_ids)`;
  const none = { status: null, problem: null, reason: null, unlisted: null, number: expect.any(Number) };
  const ofFirst = { at: row!.first, call: first, request: first, key: 'key_a', endpoint: 'GET /companies' };
  const ofSecond = { at: row!.last, call: second, request: 'order-17', key: null, endpoint: 'get_company' };
  expect(await rowsOf(accountId)).toEqual([
    { ...none, kind: 'charge', ...ofFirst, credits: 3 },
    { ...none, kind: 'charge', ...ofSecond, credits: 1 },
    { ...none, kind: 'return', ...ofFirst, credits: -2 },
  ] as never);
});

test('a call without credits, and one without an entry, has no row', async () => {
  const { accountId } = await createCaller(sql, { included: 1 });
  const credits = createCredits(sql);
  const charges = await Promise.all([callOf(accountId), callOf(accountId)].map(credits.charge));
  expect(charges.map(({ spent }) => spent)).toEqual([1, 0]);
  await rollUpAll(sql);
  expect(await brief(accountId)).toEqual(['charge key_a 1']);
  const other = await createCaller(sql);
  await credits.charge(callOf(other.accountId, { activity: undefined }));
  await rollUpAll(sql);
  expect(await brief(other.accountId)).toEqual([]);
});

test('a roll-up and a refund take the numbers before they lock any other row', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  const counted = randomUUID();
  await chargeCalls(sql, [callOf(accountId)], counted);
  await rollUpAll(sql);
  await voidAttempt(sql, counted);
  await chargeCalls(sql, [callOf(accountId)], randomUUID());
  for (const work of [rollUpCalls, refundOwed]) {
    let working: Promise<unknown> | undefined;
    await inTurnOfAnother(async (other) => {
      working = work(sql);
      await waitingForLock(sql, 1);
      for (const table of ['call_journal', 'balances', 'daily_counts'])
        await other.unsafe(`SELECT FROM ${table} FOR UPDATE NOWAIT`);
    });
    await working;
  }
  expect(await brief(accountId)).toEqual(['charge key_a 1', 'charge key_a 1', 'return key_a -1']);
});

test('a reader that goes on from `last` gets each row once, in the order of numbers, while processes write', async () => {
  const { accountId } = await createCaller(sql, { included: 100_000 });
  let isWriting = true;
  const writers = Array.from({ length: 3 }, async () => {
    while (isWriting) {
      await chargeCalls(sql, [callOf(accountId), callOf(accountId)], randomUUID());
      await rollUpCalls(sql);
    }
  });
  const seen: number[] = [];
  let cursor: number | null = null;
  const read = async () => {
    const page: Awaited<ReturnType<typeof readActivity>> = await readActivity(sql, accountId, cursor);
    seen.push(...page.rows.map(({ number }) => number));
    cursor = page.more ? page.rows.at(-1)!.number : page.last;
    return page.rows.length;
  };
  while (seen.length < 400) await read();
  isWriting = false;
  await Promise.all(writers);
  await rollUpAll(sql);
  while ((await read()) > 0);
  const [row] = await sql`SELECT count(*) AS rows FROM activity WHERE account_id = ${accountId}`;
  expect(seen).toHaveLength(row!.rows);
  expect(seen).toEqual([...new Set(seen)].toSorted((a, b) => a - b));
});

test('a statement writes 20,000 calls at most, and says that more follow', async () => {
  const { accountId } = await createCaller(sql);
  await sql`
    INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, activity)
    SELECT gen_random_uuid(), now(), array_fill(${accountId}::text, ARRAY[500]), array_fill(''::text, ARRAY[500]),
      array_fill('search'::text, ARRAY[500]), array_fill(1::bigint, ARRAY[500]), array_to_string(array_fill(gen_random_uuid(), ARRAY[500]), E'\\n')
    FROM generate_series(1, 41)`;
  expect(await rollUpCalls(sql)).toEqual({ rows: 40, isFull: true });
  expect(await rollUpCalls(sql)).toEqual({ rows: 1, isFull: false });
  const [row] = await sql`SELECT count(*) AS rows FROM activity WHERE account_id = ${accountId}`;
  expect(row!.rows).toBe(20_500);
});
