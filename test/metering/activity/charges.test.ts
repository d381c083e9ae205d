/** Charges and returns in the activity are the ledger's, whatever happens to the calls. */
import { afterAll, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { readActivity } from '../../../src/metering/activity/activity-store.ts';
import { createCredits } from '../../../src/metering/credits/charge.ts';
import { chargeCalls } from '../../../src/metering/credits/charge-calls.ts';
import { refundCredits, refundOwed } from '../../../src/metering/credits/refund.ts';
import { rollUpCalls } from '../../../src/metering/credits/rollup.ts';
import { voidAttempt } from '../../../src/metering/credits/void.ts';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';
import { waitingForLock } from '../../support/locks.ts';
import { createCaller } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { chargeKeyed } from '../credits/ledger.ts';
import { callOf, rollUpAll, sumsOf } from './activity-calls.ts';

const database = await createTestDatabase('activity');
const sql = database.sql;
afterAll(() => database.drop());

const rowsOf = async (accountId: string) => (await readActivity(sql, accountId, null)).rows;
const brief = async (accountId: string) =>
  (await rowsOf(accountId)).map(({ kind, key, credits }) => `${kind} ${key} ${credits}`);

test('a charge has the time, the key, the endpoint, the credits and the ids of its call', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  const [first, second] = [randomUUID(), randomUUID()];
  const credits = createCredits(sql);
  await credits.charge(callOf(accountId, { activity: `${first}\tGET /companies`, credits: 3 }));
  await credits.charge(callOf(accountId, { activity: `${second}\tget_company\torder-17`, keyId: '' }));
  await rollUpAll(sql);
  const [row] =
    await sql`SELECT min(at) AS first, max(at) AS last FROM call_journal WHERE ${accountId} = ANY (account_ids)`;
  const nothing = { status: null, problem: null, reason: null, unlisted: null };
  const none = { kind: 'charge', ...nothing, number: expect.any(Number) };
  expect(await rowsOf(accountId)).toEqual([
    {
      ...{ ...none, at: row!.first, call: first, request: first, key: 'key_a' },
      ...{ endpoint: 'GET /companies', credits: 3 },
    },
    {
      ...{ ...none, at: row!.last, call: second, request: 'order-17', key: null },
      ...{ endpoint: 'get_company', credits: 1 },
    },
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

test('a return stands after its charge, also of a call that is refunded while its charge waits to be counted', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  const attempt = randomUUID();
  const call = callOf(accountId, { credits: 2 });
  await chargeCalls(sql, [call], attempt);
  await refundCredits(sql, [{ ...call, id: randomUUID(), attempt, purchased: 0 }]);
  // As a roll-up does that ended before the charge came.
  await refundOwed(sql, async () => void (await rollUpCalls(sql)));
  expect(await brief(accountId)).toEqual(['charge key_a 2', 'return key_a -2']);
});

test.each([
  ['before it is counted: no row', false, []],
  [
    'after it is counted: a charge and its return, with the time of the charge',
    true,
    ['charge key_a 2', 'return key_a -2'],
  ],
])('a voided batch sums to 0, %s', async (_, isCountedFirst, expected) => {
  const { accountId } = await createCaller(sql, { included: 10 });
  const attempt = randomUUID();
  await chargeCalls(sql, [callOf(accountId, { credits: 2 })], attempt);
  if (isCountedFirst) await rollUpAll(sql);
  await voidAttempt(sql, attempt);
  await voidAttempt(sql, attempt);
  await rollUpAll(sql);
  expect(await brief(accountId)).toEqual(expected);
  const rows = await rowsOf(accountId);
  expect(new Set(rows.map(({ call, at }) => `${call} ${at.toISOString()}`)).size).toBe(
    isCountedFirst ? 1 : 0,
  );
});

test('a partial refund, and one of a keyed request, is a return with the id of the charge', async () => {
  const { accountId } = await createCaller(sql, { included: 100 });
  const credits = createCredits(sql);
  const list = callOf(accountId, { credits: 5, kind: 'debts' });
  const keyed = callOf(accountId, { credits: 4 });
  const identity = randomUUID();
  await (await credits.charge(list)).refund(2);
  for (const sending of [keyed, callOf(accountId, { credits: 4 })])
    await chargeKeyed(credits, sending, identity, 1);
  await until('refunds in the journal', async () => {
    const [row] =
      await sql`SELECT count(*) AS refunds FROM call_journal WHERE owed AND ${accountId} = ANY (account_ids)`;
    return row!.refunds === 2;
  });
  await rollUpAll(sql);
  const rows = await rowsOf(accountId);
  const sums = Map.groupBy(rows, ({ call }) => call)
    .values()
    .map((of) => of.map(({ kind, credits }) => `${kind} ${credits}`).toSorted());
  expect([...sums].toSorted()).toEqual([
    ['charge 4', 'return -1'],
    ['charge 5', 'return -2'],
  ]);
  const { calls, activity } = await sumsOf(sql, [accountId]);
  expect(activity).toEqual(calls);
});

test('charges less returns are the calls of each day, account and key, while calls, voids, refunds and roll-ups of several processes race', async () => {
  const accounts = await Promise.all([30, 60, 500].map((included) => createCaller(sql, { included })));
  const pools = Array.from({ length: 3 }, () =>
    connectPostgres(database.url, { max: 4, lockTimeoutMs: 300 }),
  );
  const attempts: { attempt: string; call: ReturnType<typeof callOf> }[] = [];
  let isRunning = true;
  const process = async (pool: (typeof pools)[number], seed: number) => {
    for (let n = seed; n < seed + 60; n += 1) {
      const calls = accounts
        .slice(0, 1 + (n % 3))
        .map(({ accountId }, index) =>
          callOf(accountId, { keyId: `key_${(n + index) % 4}`, credits: 1 + (n % 2) }),
        );
      const attempt = randomUUID();
      await chargeCalls(pool, calls, attempt).catch(() => {});
      if (n % 7 === 0)
        await sql`UPDATE call_journal SET at = at - interval '1 day' WHERE attempt = ${attempt} AND NOT counted`;
      if (n % 5 === 0) await voidAttempt(pool, attempt);
      else if (n % 4 === 0) attempts.push({ attempt, call: calls[0]! });
      const earlier = n % 3 === 0 ? attempts.shift() : undefined;
      if (earlier !== undefined) {
        const { call, attempt } = earlier;
        await refundCredits(pool, [{ ...call, id: randomUUID(), attempt, credits: 1, purchased: 0 }]);
      }
    }
  };
  const rollUps = pools.map(async (pool) => {
    while (isRunning) {
      await refundOwed(pool).catch(() => {});
      await rollUpCalls(pool, 3).catch(() => {});
    }
  });
  await Promise.all(pools.map((pool, index) => process(pool, index * 100)));
  isRunning = false;
  await Promise.all(rollUps);
  await rollUpAll(sql);
  const { calls, activity } = await sumsOf(
    sql,
    accounts.map((account) => account.accountId),
  );
  expect(calls.length).toBeGreaterThan(12);
  expect(activity).toEqual(calls);
  const [row] = await sql`SELECT count(*) AS rows, count(DISTINCT number) AS numbers FROM activity`;
  expect(row!.rows).toBe(row!.numbers);
  await Promise.all(pools.map((pool) => pool.end({ timeout: 5 })));
});

test('a roll-up and a refund take the numbers before they lock any other row', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  const counted = randomUUID();
  await chargeCalls(sql, [callOf(accountId)], counted);
  await rollUpAll(sql);
  await voidAttempt(sql, counted);
  await chargeCalls(sql, [callOf(accountId)], randomUUID());
  for (const work of [rollUpCalls, refundOwed]) {
    const holder = await sql.reserve();
    await holder`BEGIN`;
    await holder`SELECT FROM activity_numbers FOR UPDATE`;
    const working = work(sql);
    await waitingForLock(sql, 1);
    for (const table of ['call_journal', 'balances', 'daily_counts'])
      await holder.unsafe(`SELECT FROM ${table} FOR UPDATE NOWAIT`);
    await holder`ROLLBACK`;
    holder.release();
    await working;
  }
  expect(await brief(accountId)).toEqual(['charge key_a 1', 'charge key_a 1', 'return key_a -1']);
});

test('a process that waits in vain for its turn leaves the calls to the other one', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  await chargeCalls(sql, [callOf(accountId)], randomUUID());
  const impatient = connectPostgres(database.url, { max: 1, lockTimeoutMs: 50 });
  const holder = await sql.reserve();
  await holder`BEGIN`;
  await holder`SELECT FROM activity_numbers FOR UPDATE`;
  await expect(rollUpCalls(impatient)).rejects.toThrow('lock timeout');
  await holder`COMMIT`;
  holder.release();
  expect(await brief(accountId)).toEqual([]);
  await rollUpCalls(impatient);
  expect(await brief(accountId)).toEqual(['charge key_a 1']);
  await impatient.end();
});

test('a reader that goes on from `last` gets each row once, in the order of numbers, while processes write', async () => {
  const { accountId } = await createCaller(sql, { included: 100_000 });
  let isWriting = true;
  const writers = Array.from({ length: 3 }, async () => {
    while (isWriting) {
      await chargeCalls(sql, [callOf(accountId), callOf(accountId)], randomUUID());
      await rollUpCalls(sql, 2);
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
