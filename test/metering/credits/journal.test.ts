/** What comes back by voids and refunds, and the roll-up of the journal: what else writes to the same rows at once. */
import { describe, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { METERING_DATA } from '../../../src/metering/account-data/metering-data.ts';
import { createAccount } from '../../../src/metering/accounts/account-store.ts';
import { changePlan } from '../../../src/metering/accounts/changes.ts';
import { createCredits } from '../../../src/metering/credits/charge.ts';
import { chargeBatch, chargeCalls } from '../../../src/metering/credits/charge-batch.ts';
import { refundCredits, refundOwed, voidAttempt } from '../../../src/metering/credits/refund.ts';
import { purgeJournal, rollUpCalls, startCallRollup } from '../../../src/metering/credits/rollup.ts';
import { createNotes } from '../../../src/metering/notes/notes.ts';
import { createLogTo } from '../../../src/platform/observability/log.ts';
import { connectPostgres, type Sql } from '../../../src/platform/postgres/connect.ts';
import { createCleanup } from '../../../src/platform/runtime/shutdown.ts';
import { storeCallCounts } from '../../support/counts.ts';
import { createTestDatabase } from '../../support/database.ts';
import { lockRow, waitingForLock } from '../../support/locks.ts';
import { noteProblem } from '../../support/notes.ts';
import { createCaller } from '../../support/service.ts';
import { stopClock } from '../../support/stopped-clock.ts';
import {
  attemptsOf,
  callOf,
  chargeMany,
  chargeOne,
  differingTotals,
  givingBack,
  ledgerOf,
  startLedgers,
  startProxiedLedger,
} from './ledger.ts';

const { sql, url, one, impatient } = await startLedgers('journal');

test('a refund comes back no second time when the journal has forgotten it, because its batch is forgotten, too', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  const [attempt, id] = [randomUUID(), randomUUID()];
  const call = { accountId, keyId: 'a', kind: 'lookup', credits: 1 } as const;
  await chargeCalls(sql, [call, call], attempt);
  const refund = async () => {
    await refundCredits(sql, [{ ...call, id, attempt, purchased: 0 }]);
    await refundOwed(sql);
  };
  await refund();
  await rollUpCalls(sql);
  await sql`UPDATE call_journal SET spent_at = spent_at - interval '11 minutes' WHERE attempt IN (${attempt}, ${id})`;
  await purgeJournal(sql);
  await refund();
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 1, credits: 0, calls: 1 });
});

test('no statement of the ledger reads a table whole that grows', async () => {
  const caller = await createCaller(sql, { included: 10 });
  const pool = connectPostgres(url, { max: 1, pointQueries: true });
  const whole = await pool.begin(async (transaction) => {
    const sql = transaction as unknown as Sql;
    const call = callOf(caller.accountId, { keyId: caller.keyId });
    const [attempt, id] = [randomUUID(), randomUUID()];
    await chargeBatch(sql, [call, call], attempt, (work) => Promise.resolve(work));
    await refundCredits(sql, [{ ...call, id, attempt, purchased: 0 }]);
    await rollUpCalls(sql);
    await refundOwed(sql);
    await purgeJournal(sql);
    const notes = createNotes(sql);
    noteProblem(notes, caller, 'validation', { trace: { callId: id } });
    await notes.write();
    return sql`SELECT relname AS table FROM pg_stat_xact_user_tables WHERE seq_scan > 0 ORDER BY relname`;
  });
  await pool.end();
  expect(whole.map(({ table }) => table)).toEqual(['activity_numbers', 'plans']);
});

test('a refund ends when it is stored, or after 2 s; then it is stored later', async () => {
  await using proxied = await startProxiedLedger(url);
  const { proxy, ledger } = proxied;
  const { accountId, keyId } = await createCaller(sql, { included: 10 });
  const charge = () => ledger.charge({ accountId, keyId, kind: 'lookup', credits: 1 });
  const [stored, late] = [await charge(), await charge()];
  const rows = async () =>
    (await sql`SELECT FROM call_journal WHERE owed AND account_ids[1] = ${accountId}`).length;
  await stored.refund(1);
  expect(await rows()).toBe(1);
  proxy.hang();
  await late.refund(1);
  expect(await rows()).toBe(1);
  proxy.up();
  await ledger.close(5000);
  expect(await rows()).toBe(2);
});

test('a refund that is not stored when the service stops, or comes afterwards, is reported', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  const lost: unknown[] = [];
  const credits = createCredits(sql, { onLost: (owed) => void lost.push(...owed.values()) });
  const charge = await credits.charge({ accountId, keyId: 'a', kind: 'lookup', credits: 3 });
  const storing = charge.refund(1);
  // It waits for nothing, so the refund is still on its way.
  await credits.close(0);
  await charge.refund(2);
  expect(lost).toEqual([1, 2].map((credits) => [{ accountId, keyId: 'a', kind: 'lookup', credits }]));
  await storing;
});

describe('an attempt to charge', () => {
  async function createAttempt() {
    const { accountId } = await createCaller(sql, { included: 2, credits: 5 });
    const attempt = randomUUID();
    const call = { accountId, keyId: 'a', kind: 'search', credits: 3 } as const;
    return { accountId, attempt, charge: (sql: Sql) => chargeCalls(sql, [call], attempt).execute() };
  }

  test('that is voided while it waits for the account charges nothing when its turn comes', async () => {
    const { accountId, attempt, charge } = await createAttempt();
    const lock = await lockRow(sql, accountId);
    const charging = charge(sql).catch(({ code }) => code);
    await waitingForLock(sql, 1);
    await voidAttempt(sql, attempt);
    await lock.release();
    expect(await charging).toBe('23505');
    await refundOwed(sql);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 5, calls: 0 });
  });

  test('that is voided while it commits is charged first, and then refunded', async () => {
    const { accountId, attempt, charge } = await createAttempt();
    let voiding: PromiseLike<unknown> | undefined;
    await sql.begin(async (transaction) => {
      await charge(transaction as unknown as Sql);
      voiding = voidAttempt(sql, attempt).execute();
      await waitingForLock(sql, 1);
    });
    await voiding;
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 3, credits: 4, calls: 3 });
    await refundOwed(sql);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 5, calls: 0 });
  });
});

test('a void takes no lock of an account, and refunds leave a locked one for later, after one wait for all of its batches', async () => {
  const [locked, other] = [await createCaller(sql, { included: 100 }), await createCaller(sql)];
  for (let batch = 0; batch < 40; batch += 1) await chargeOne(one, locked.accountId);
  await chargeOne(one, other.accountId);
  const lock = await lockRow(sql, locked.accountId);
  try {
    for (const { accountId } of [locked, other])
      for (const attempt of await attemptsOf(sql, accountId)) await voidAttempt(impatient, attempt);
    let statements = 0;
    const counted = new Proxy(impatient, {
      apply(target, self, parameters) {
        if (String(parameters[0]).includes('take_activity_numbers')) statements += 1;
        return Reflect.apply(target, self, parameters);
      },
    });
    await refundOwed(counted);
    expect(statements).toBe(2);
    expect(await ledgerOf(sql, other.accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
    expect(await ledgerOf(sql, locked.accountId)).toEqual({ used: 40, credits: 0, calls: 40 });
  } finally {
    await lock.release();
  }
  await refundOwed(impatient);
  expect(await ledgerOf(sql, locked.accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
});

describe('between a charge and its void', () => {
  test('a plan changes while the call waits for the account: the call is of the new period', async () => {
    const { accountId } = await createCaller(sql, { included: 10 });
    const lock = await lockRow(sql, accountId);
    const changing = changePlan(sql, accountId, 'plus', {}, 'test');
    await waitingForLock(sql, 1);
    const calling = chargeOne(one, accountId);
    await waitingForLock(sql, 2);
    await lock.release();
    await Promise.all([changing, calling]);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 1, credits: 0, calls: 1 });
    for (const attempt of await attemptsOf(sql, accountId)) await voidAttempt(sql, attempt);
    await refundOwed(sql);
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
  });

  test.each(givingBack(sql))(
    'a plan changes while %s waits for the account: its purchased credits come back',
    async (_, giveBack) => {
      const { accountId } = await createCaller(sql, { included: 0, credits: 10 });
      const call = { accountId, keyId: 'a', kind: 'search', credits: 5 } as const;
      const charge = await one.charge(call);
      await giveBack(charge, (await attemptsOf(sql, accountId))[0]!);
      const lock = await lockRow(sql, accountId);
      const changing = changePlan(sql, accountId, 'plus', {}, 'test');
      await waitingForLock(sql, 1);
      const refunding = refundOwed(sql);
      await waitingForLock(sql, 2);
      await lock.release();
      await Promise.all([changing, refunding]);
      expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 10, calls: 0 });
    },
  );
});

test('a charge that is answered without its row is voided, because it can not be told what was charged', async () => {
  const { accountId } = await createCaller(sql, { included: 9 });
  const rowless = new Proxy(sql, {
    get: (target, name) =>
      name === 'unsafe'
        ? (...parameters: Parameters<Sql['unsafe']>) => target.unsafe(...parameters).then(() => [])
        : Reflect.get(target, name),
  });
  const voided = Promise.withResolvers<void>();
  const credits = createCredits(rowless, { onEvent: (event) => event === 'voided' && voided.resolve() });
  const call = { accountId, keyId: 'a', kind: 'search', credits: 1 } as const;
  await expect(credits.charge(call)).rejects.toThrow('0 rows instead of one');
  await voided.promise;
  await refundOwed(sql);
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
  await credits.close(1000);
});

test('a transaction that has locked an account delays nobody’s roll-up, not even its own', async () => {
  const callers = await Promise.all([1, 2].map(() => createCaller(sql, { included: 10 })));
  for (const { accountId } of callers) await chargeOne(one, accountId);
  const locks = [
    await lockRow(sql, callers[0]!.accountId, 'accounts'),
    await lockRow(sql, callers[0]!.accountId),
  ];
  await rollUpCalls(impatient);
  await purgeJournal(impatient);
  const ids = callers.map(({ accountId }) => accountId);
  const counts = await sql`SELECT key_id AS key, kind, calls FROM key_counts WHERE account_id = ANY (${ids})`;
  expect([...counts]).toEqual(ids.map(() => ({ key: '', kind: 'search', calls: 1 })));
  for (const lock of locks) await lock.release();
});

test('after an outage of over ten minutes a void still finds its batch, and half a minute later the journal forgets', async () => {
  const { accountId } = await createCaller(sql, { included: 10 });
  await chargeMany(one, accountId, 2);
  await sql`UPDATE call_journal SET spent_at = now() - interval '11 minutes'`;
  await sql`UPDATE balances SET period_opened_at = '-infinity' WHERE account_id = ${accountId}`;
  const [attempt] = await attemptsOf(sql, accountId);
  const tasks = createCleanup();
  const clock = stopClock();
  try {
    const rollups = startCallRollup(sql, createLogTo({ write() {} }), tasks);
    await rollups.run();
    await voidAttempt(sql, attempt!);
    await rollups.run();
    expect(await ledgerOf(sql, accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
    clock.pass(31_000);
    await rollups.run();
    expect(await sql`SELECT 1 FROM call_journal WHERE attempt = ${attempt!}`).toHaveLength(0);
  } finally {
    clock.restore();
    await tasks.runInParallel();
  }
});

test('the journal forgets a counted batch after ten minutes, and one that is to be returned never', async () => {
  const [old, recent, uncounted, doubtful] = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const { accountId } = await createCaller(sql, { included: 10 });
      const attempt = randomUUID();
      await chargeCalls(sql, [callOf(accountId)], attempt);
      return { accountId, attempt };
    }),
  );
  await sql`UPDATE call_journal SET counted = true WHERE attempt <> ${uncounted!.attempt}`;
  await sql`UPDATE call_journal SET owed = true WHERE attempt = ${doubtful!.attempt}`;
  await sql`UPDATE call_journal SET spent_at = now() - interval '11 minutes' WHERE attempt <> ${recent!.attempt}`;
  await purgeJournal(sql);
  for (const { accountId } of [recent!, uncounted!, doubtful!]) {
    expect(await attemptsOf(sql, accountId)).toHaveLength(1);
  }
  expect(await attemptsOf(sql, old!.accountId)).toEqual([]);
});

test('writes at once, of the same and of other keys, and removals leave the sums of all rows', async () => {
  await using own = await createTestDatabase('totals');
  const { sql } = own;
  const { id } = await createAccount(sql, { name: 'Test', plan: 'plus' }, 'test');
  const { id: other } = await createAccount(sql, { name: 'Other', plan: 'plus' }, 'test');
  // Each statement inserts rows of some days and updates those of others.
  const addCalls = (seed: number) =>
    storeCallCounts(
      sql,
      sql`
        SELECT account, date '2026-11-01' + (n * ${seed}) % 7, 'key_' || n, kind, n
        FROM generate_series(1, 40) AS n, unnest(ARRAY[${id}, ${other}]) AS account, unnest('{lookup,search}'::text[]) AS kind
        WHERE n % 3 = ${seed % 3}`,
    );
  const addErrors = (seed: number) => {
    const errors = createNotes(sql);
    for (const accountId of [id, other])
      noteProblem(errors, { accountId, keyId: `key_${seed % 3}` }, 'company-not-found', { spent: seed % 2 });
    return errors.write();
  };
  // Four at once: none waits for a connection, for which a process has 2 s.
  const addAll = async (first: number) => {
    for (let seed = first; seed <= 30; seed += 2) await Promise.all([addCalls(seed), addErrors(seed)]);
  };
  await Promise.all([1, 2].map(addAll));
  expect(await differingTotals(sql)).toEqual([]);
  const totals = sql`key_id = '*' AND kind = '4xx'`;
  expect(await sql`SELECT 1 FROM daily_counts WHERE key_id = '*' AND hour = -1`).not.toHaveLength(0);
  // The hours of a day are its sum, too.
  expect(
    await sql`
      SELECT 1 FROM daily_counts WHERE key_id = '*' GROUP BY account_id, day, kind
      HAVING sum(calls) FILTER (WHERE hour = -1) <> sum(calls) FILTER (WHERE hour >= 0)`,
  ).toHaveLength(0);
  await METERING_DATA.removeInParts!(sql, id);
  expect(await differingTotals(sql)).toEqual([]);
  expect(await sql`SELECT 1 FROM daily_counts WHERE account_id = ${id} AND ${totals}`).toHaveLength(0);
  await sql`UPDATE daily_counts SET calls = calls + 1 WHERE account_id = ${other} AND ${totals} AND hour = -1`;
  expect((await differingTotals(sql)).length).toBe(1);
});
