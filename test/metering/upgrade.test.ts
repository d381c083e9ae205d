/** The migrations after 0.1.0 carry its rows over, and a process of 0.1.0 loses nothing beside the new tables. */
import { afterAll, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { requireAccount } from '../../src/metering/accounts/account-store.ts';
import { createCredits } from '../../src/metering/credits/charge.ts';
import { refundOwed, voidAttempt } from '../../src/metering/credits/refund.ts';
import { rollUpCalls } from '../../src/metering/credits/rollup.ts';
import { limitKey } from '../../src/metering/keys/limit-key.ts';
import type { Sql } from '../../src/platform/postgres/connect.ts';
import { migrate } from '../../src/platform/postgres/migrate.ts';
import { lockRow, waitingForLock } from '../support/locks.ts';
import { createReleasedDatabase } from '../support/released.ts';
import { RELEASED_CHARGES } from '../support/released-charges.ts';
import { chargeKeyed, differingTotals } from './credits/ledger.ts';

const database = await createReleasedDatabase('upgrade');
const { sql } = database;
const ledgerDatabase = await createReleasedDatabase('upgrade_ledger');
afterAll(() => Promise.all([database.drop(), ledgerDatabase.drop()]));

/** Of the ids that 0.1.0 makes of requests. */
const NAMESPACE_OF_RELEASE = '4b0e6f52-6a0c-4c0f-9d3e-2f7b1c9a8d54';

/** An account of 0.1.0 with a key. */
async function createReleased(
  sql: Sql,
  id: string,
  { included = 100, credits = 0, budget = null as number | null } = {},
) {
  const [accountId, keyId] = [`acc_${id}`, `key_${id}`];
  await sql`INSERT INTO accounts (id, name) VALUES (${accountId}, ${id})`;
  await sql`
    INSERT INTO balances (account_id, plan, included_credits, credits, period_plan, period_start, period_end)
    SELECT ${accountId}, 'free', ${included}, ${credits}, (p).plan, (p).starts_at, (p).ends_at
    FROM account_period('free', NULL, NULL, NULL, now()) AS p`;
  await sql`
    INSERT INTO api_keys (id, account_id, start, secret_sha256) VALUES (${keyId}, ${accountId}, 'svc_live_', sha256(${keyId}::bytea))`;
  await sql`INSERT INTO key_budgets (key_id, credits, per) VALUES (${keyId}, ${budget}, 'month')`;
  return { accountId, keyId };
}

/** What a process of 0.1.0 has written: counted calls and errors, and a charge that waits for its roll-up. */
async function writeAsReleased(accountId: string): Promise<void> {
  await sql`
    INSERT INTO daily_calls VALUES (${accountId}, '2026-11-01', 'key_a', 'search', 5), (${accountId}, '2026-11-01', '', 'lookup', 2)`;
  await sql`
    INSERT INTO daily_error_answers VALUES
      (${accountId}, '2026-11-01', 'key_a', '4xx', 3, 3), (${accountId}, '2026-11-02', 'key_b', '401', 7, 0)`;
  await sql`
    INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls)
    VALUES (gen_random_uuid(), '2026-11-01T10:00:00Z', ${[accountId]}, '{key_a}', '{search}', '{4}')`;
}

test('sums of days are carried over, their old names can be read, and a roll-up of 0.1.0 is done by a new process', async () => {
  const { accountId: id } = await createReleased(sql, 'days');
  await writeAsReleased(id);
  const views = [
    'call_counts',
    'calls_by_day',
    'account_counts',
    'daily_calls',
    'daily_error_answers',
    'daily_totals',
  ];
  const readView = (view: string) =>
    sql`SELECT to_jsonb(v) AS row FROM ${sql(view)} AS v WHERE account_id = ${id} ORDER BY 1`;
  const read = () => Promise.all(views.map(readView));
  const before = await read();
  expect(before.every(({ length }) => length > 0)).toBe(true);
  await migrate(database.url);
  expect(await read()).toEqual(before);
  expect(await differingTotals(sql)).toEqual([]);

  const rollUpAsReleased = sql`
    WITH batch AS (UPDATE call_journal SET counted = true WHERE NOT counted RETURNING *), entry AS (
      SELECT entry.* FROM batch, unnest(account_ids, key_ids, kinds, batch.calls) AS entry (account_id, key_id, kind, calls))
    INSERT INTO daily_calls AS daily (account_id, day, key_id, kind, calls)
    SELECT account_id, '2026-11-01', key_id, kind, calls FROM entry
    ON CONFLICT (account_id, day, key_id, kind) DO UPDATE SET calls = daily.calls + excluded.calls`;
  await expect(rollUpAsReleased).rejects.toThrow('cannot insert into view "daily_calls"');
  expect((await rollUpCalls(sql)).rows).toBe(1);
  const searches = await sql`SELECT calls FROM calls_by_day WHERE account_id = ${id} AND kind = 'search'`;
  expect(searches).toMatchObject([{ calls: 9 }]);
  expect(await differingTotals(sql)).toEqual([]);
});

test('counters and keyed requests are carried over, and charges, voids and refunds of 0.1.0 go on beside a new process', async () => {
  const { sql, url } = ledgerDatabase;
  const rich = await createReleased(sql, 'rich');
  const bought = await createReleased(sql, 'bought', { included: 1, credits: 50 });
  const limited = await createReleased(sql, 'limited', { budget: 5 });
  const keyed = await createReleased(sql, 'keyed');
  await sql`UPDATE balances SET period_opened_at = '-infinity' WHERE account_id = ${keyed.accountId}`;
  type Caller = typeof rich;

  /** A batch of one credit each, as 0.1.0 sends it. @returns its attempt */
  const chargeAsReleased = async (form: keyof typeof RELEASED_CHARGES, callers: Caller[]) => {
    const attempt = randomUUID();
    const ids = callers.map(({ accountId }) => accountId);
    const keys = callers.map(({ keyId }) => keyId);
    const calls = [attempt, ids, keys, ids.map(() => 'lookup'), ids.map(() => 1)];
    const parameters = {
      chargeAllowances: [new Set(ids).size, null],
      chargeCalls: [true, null],
      chargeWithBudgets: [true, null, keys],
    };
    await sql.unsafe(RELEASED_CHARGES[form], [...calls, ...parameters[form]] as never[], { prepare: true });
    return attempt;
  };
  /** A charge of a request with an `Idempotency-Key`: its row names the request, and another one its sending. */
  const chargeKeyedAsReleased = async (identity: string, shortOf: 'account' | null, age = '9 minutes') => {
    const attempt = await chargeAsReleased('chargeCalls', [keyed]);
    await sql`
      UPDATE call_journal SET request = ${Bun.randomUUIDv5(identity, NAMESPACE_OF_RELEASE)}, sendings = 1, charged = 1,
        short_of = ${shortOf}, spent_at = spent_at - ${age}::interval
      WHERE attempt = ${attempt}`;
    const sending = randomUUID();
    await sql`
      INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, counted, charge)
      VALUES (${sending}, now(), '{}', '{}', '{}', '{}', true, ${attempt})`;
    return sending;
  };
  const state = async ({ accountId, keyId }: Caller) => {
    const [row] = await sql`
      SELECT b.used, b.credits, k.used AS "ofKey",
        (SELECT coalesce(sum(calls), 0)::bigint FROM calls_by_day WHERE account_id = ${accountId}) AS calls
      FROM balances b, key_budgets k WHERE b.account_id = ${accountId} AND k.key_id = ${keyId}`;
    return [row!.used, row!.credits, row!.ofKey, row!.calls];
  };

  await chargeAsReleased('chargeAllowances', [rich, bought]);
  const ofPurchased = await chargeAsReleased('chargeCalls', [bought]);
  const ofBudget = await chargeAsReleased('chargeWithBudgets', [limited, limited]);
  const owed = await chargeAsReleased('chargeAllowances', [rich]);
  await voidAttempt(sql, owed);
  await chargeKeyedAsReleased('whole', null);
  await chargeKeyedAsReleased('part', 'account');
  await chargeKeyedAsReleased('old', null, '10 minutes 1 second');
  const underWay = await chargeKeyedAsReleased('under way', null);
  const before = [await state(rich), await state(bought), await state(limited)];
  expect(before).toEqual([
    [2, 0, 0, 2],
    [2, 49, 0, 2],
    [2, 0, 2, 2],
  ]);

  // A statement of 0.1.0 is in flight, so the migration waits for it, and another one for the migration.
  const lock = await lockRow(sql, rich.accountId);
  const inFlight = chargeAsReleased('chargeAllowances', [rich]);
  await waitingForLock(sql, 1);
  const migrated = migrate(url);
  await waitingForLock(sql, 2);
  const behind = chargeAsReleased('chargeWithBudgets', [limited]);
  await waitingForLock(sql, 3);
  await lock.release();
  await Promise.all([inFlight, migrated, behind]);
  expect(await state(rich)).toEqual([3, 0, 0, 3]);
  expect(await state(limited)).toEqual([3, 0, 3, 3]);

  const credits = createCredits(sql);
  const call = { kind: 'lookup', credits: 1, hasBudget: true } as const;
  expect(await credits.charge({ ...limited, ...call })).toMatchObject({ spent: 1 });
  expect(await credits.left(limited)).toBe(1);
  await chargeAsReleased('chargeAllowances', [rich]);
  await chargeAsReleased('chargeCalls', [rich, bought]);
  await chargeAsReleased('chargeWithBudgets', [limited, limited]);
  const refusal = { spent: 0, reason: { credits: 5, per: 'month' } } as const;
  expect(await credits.charge({ ...limited, ...call })).toMatchObject(refusal);
  expect([await state(rich), await state(bought), await state(limited)]).toEqual([
    [5, 0, 0, 5],
    [3, 48, 0, 3],
    [5, 0, 5, 5],
  ]);
  // Keyed requests of the last ten minutes are not charged again, and a sending of 0.1.0 that is under way gives back.
  const send = (identity: string, needed: number) =>
    chargeKeyed(credits, { ...keyed, kind: 'lookup', credits: needed }, identity);
  expect(await send('whole', 1)).toMatchObject({ spent: 1, reason: null, isRepeated: true });
  expect(await send('part', 5)).toMatchObject({ spent: 1, reason: { limit: 100 }, isRepeated: true });
  expect(await send('old', 5)).toMatchObject({ spent: 5, isRepeated: false });
  await sql`SELECT refund_sending(${underWay}::uuid, 0)`;
  await refundOwed(sql);
  expect(await state(keyed)).toEqual([8, 0, 0, 8]);
  // What 0.1.0 charged comes back, also when its void comes late: purchased credits, and those of a budget.
  await voidAttempt(sql, ofPurchased);
  await voidAttempt(sql, ofBudget);
  await rollUpCalls(sql);
  await refundOwed(sql);
  expect([await state(rich), await state(bought), await state(limited)]).toEqual([
    [4, 0, 0, 4],
    [2, 49, 0, 2],
    [3, 0, 3, 3],
  ]);
  const afterwards = { used: 2, usedPurchased: 1, credits: 49 };
  expect(await requireAccount(sql, bought.accountId)).toMatchObject(afterwards);
  const change = { budget: { credits: 9, per: 'day' } } as const;
  expect((await limitKey(sql, limited.keyId, change, 'test')).budget!.used).toBe(3);
  await credits.close(1000);
});
