/** Requests that are charged once, however often they are sent (docs/api.md: Idempotency-Key). */
import { describe, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import type { Call, Claim } from '../../../src/metering/credits/call.ts';
import { type Credits, createCredits } from '../../../src/metering/credits/charge.ts';
import { releaseClaim, StillUnderWayError } from '../../../src/metering/credits/claim.ts';
import { refundOwed } from '../../../src/metering/credits/refund.ts';
import { purgeJournal, rollUpCalls } from '../../../src/metering/credits/rollup.ts';
import { lockRow, waitingForLock } from '../../support/locks.ts';
import { createCaller } from '../../support/service.ts';
import { eventually } from '../../support/until.ts';
import { chargeKeyed, ledgerOf, startLedgers, startProxiedLedger } from './ledger.ts';

const { sql, url, one, other, impatient } = await startLedgers('claim');

interface Request {
  call: Call;
  identity: string;
}
/** A request that costs five credits, of a new account. */
async function createRequest(included = 100): Promise<{ accountId: string; request: Request }> {
  const { accountId } = await createCaller(sql, { included });
  const call = { accountId, credits: 5, keyId: 'key', kind: 'lookup' } as const;
  return { accountId, request: { call, identity: randomUUID() } };
}

const expectOneCharge = async (accountId: string) =>
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 5, credits: 0, calls: 5 });

/** Begins a sending: claims the request, and charges it. */
async function begin(ledger: Credits, { call, identity }: Request, more: Partial<Call> = {}) {
  const claim = await ledger.claim(call, identity);
  return { claim, charge: await ledger.charge({ ...call, ...more, claim }) };
}

/** A whole sending, which refunds so many of its credits. @returns its charge */
const send = (ledger: Credits, { call, identity }: Request, back = 0, more: Partial<Call> = {}) =>
  chargeKeyed(ledger, { ...call, ...more }, identity, back);

/** As if the process of a live sending had died long ago. */
const expire = ({ sending }: Claim) =>
  sql`UPDATE keyed_requests SET live_until = now() - interval '1 second' WHERE sending = ${sending}`;
/** Moves what a request has kept into the past. */
const age = async (accountId: string, time: string) => {
  await sql`UPDATE call_journal SET spent_at = spent_at - ${time}::interval WHERE account_ids[1] = ${accountId}`;
  await sql`UPDATE keyed_requests SET kept_at = kept_at - ${time}::interval, live_until = live_until - ${time}::interval`;
};

test('a second sending waits for the first one, and then finds what that has kept', async () => {
  const { accountId, request } = await createRequest();
  const first = await begin(one, request);
  const second = send(other, request);
  await Bun.sleep(100);
  expect(await Promise.race([second, 'waits'])).toBe('waits');
  await first.charge.refund(2);
  expect(await second).toMatchObject({ spent: 3, isRepeated: true });
  await refundOwed(sql);
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 3, credits: 0, calls: 3 });
});

test('a sending that waits for too long is told when the other one ends by itself, and has claimed nothing', async () => {
  const { request } = await createRequest();
  const first = await begin(one, request);
  const clock = performance.now;
  const waiting = other.claim(request.call, request.identity);
  performance.now = () => clock.call(performance) + 60_000;
  const error = await waiting.catch((error) => error).finally(() => (performance.now = clock));
  expect(error).toBeInstanceOf(StillUnderWayError);
  expect(error.retryAfterS).toBeWithin(1, 31);
  await first.charge.refund(0);
  expect(await send(other, request)).toMatchObject({ spent: 5, isRepeated: true });
});

test('a request that needs more when it is sent again gets what was paid; one that needs less, that', async () => {
  const { accountId, request } = await createRequest();
  await send(one, request);
  const repeated = { reason: null, isRepeated: true };
  expect(await send(other, request, 0, { credits: 8 })).toMatchObject({ ...repeated, spent: 5 });
  expect(await send(other, request, 0, { credits: 2 })).toMatchObject({ ...repeated, spent: 2 });
  await expectOneCharge(accountId);
});

test('a request that an account without credits sends is charged when it has some', async () => {
  const { accountId, request } = await createRequest(0);
  expect(await send(one, request)).toMatchObject({ spent: 0, reason: { limit: 0 } });
  await sql`UPDATE balances SET credits = 7 WHERE account_id = ${accountId}`;
  expect(await send(other, request)).toMatchObject({ spent: 5, reason: null, isRepeated: false });
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 5, credits: 2, calls: 5 });
});

test('after ten minutes it is a new request, whether its rows are still there or not', async () => {
  const { accountId, request } = await createRequest();
  const usedAfter = async (time: string) => {
    // A sending's end is stored behind its answer, and with it the time.
    await eventually(async () => (await sql`SELECT FROM keyed_requests WHERE sending IS NOT NULL`).length, 0);
    await rollUpCalls(sql);
    await age(accountId, time);
    await purgeJournal(sql);
    await send(one, request);
    return (await ledgerOf(sql, accountId)).used;
  };
  await send(one, request);
  expect(await usedAfter('9 minutes 50 seconds')).toBe(5);
  expect(await usedAfter('11 seconds')).toBe(10);
  expect(await usedAfter('20 minutes')).toBe(15);
});

describe('a sending whose process has died', () => {
  test('was charged: the next one finds its charge, and a late end refunds nothing that the next one uses', async () => {
    const { accountId, request } = await createRequest();
    const first = await begin(one, request);
    await expire(first.claim);
    const second = await begin(other, request);
    expect(second.charge).toMatchObject({ spent: 5, isRepeated: true });
    await first.charge.refund(5);
    await second.charge.refund(0);
    other.release(second.claim);
    await refundOwed(sql);
    await expectOneCharge(accountId);
    expect(await send(one, request)).toMatchObject({ spent: 5, isRepeated: true });
  });

  test('was not charged, and never will be: the next one is charged, and the late charge fails', async () => {
    const { accountId, request } = await createRequest();
    const claim = await one.claim(request.call, request.identity);
    await expire(claim);
    expect(await send(other, request)).toMatchObject({ spent: 5, isRepeated: false });
    await expect(one.charge({ ...request.call, claim })).rejects.toThrow('call_journal_pkey');
    await expectOneCharge(accountId);
  });

  test('is being charged: the next one waits for the outcome', async () => {
    const { accountId, request } = await createRequest();
    const claim = await one.claim(request.call, request.identity);
    const lock = await lockRow(sql, accountId);
    const charging = one.charge({ ...request.call, claim });
    await waitingForLock(sql, 1);
    await expire(claim);
    await lock.release();
    const [charged, next] = await Promise.all([charging.catch(() => null), send(other, request)]);
    expect(next.spent).toBe(5);
    expect(next.isRepeated).toBe(charged !== null);
    await expectOneCharge(accountId);
  });
});

test('an error that Postgres answers costs that sending nothing, and refuses no other call', async () => {
  const ledger = createCredits(impatient);
  const { accountId, request } = await createRequest();
  const lock = await lockRow(sql, accountId);
  const claim = await ledger.claim(request.call, request.identity);
  await expect(ledger.charge({ ...request.call, claim })).rejects.toThrow('the account is locked');
  ledger.release(claim);
  expect(await send(ledger, (await createRequest()).request)).toMatchObject({ spent: 5, isRepeated: false });
  await lock.release();
  expect(await send(one, request)).toMatchObject({ spent: 5, isRepeated: false });
  await expectOneCharge(accountId);
  await ledger.close(5000);
});

test('a claim whose answer was lost ends at once', async () => {
  await using proxied = await startProxiedLedger(url);
  const { proxy, ledger } = proxied;
  const { request } = await createRequest();
  // From here on the statement is prepared, and its connection is idle.
  await releaseClaim(sql, await ledger.claim(request.call, randomUUID()));
  const live = async () =>
    (await sql`SELECT FROM keyed_requests WHERE sending IS NOT NULL AND key_id IS NULL`).length;
  proxy.delay(60_000);
  const claim = ledger.claim(request.call, request.identity).catch(() => 'lost');
  await eventually(live, 1);
  proxy.down();
  proxy.up();
  expect(await claim).toBe('lost');
  await eventually(live, 0);
});

describe('a charge whose outcome is unknown', () => {
  /** Loses the answer to a charge that has arrived. Until `close` its instance can't void it. */
  async function chargeUnanswered() {
    const { proxy, ledger, close } = await startProxiedLedger(url);
    const { accountId, request } = await createRequest();
    const claim = await ledger.claim(request.call, request.identity);
    const lock = await lockRow(sql, accountId);
    const charge = ledger.charge({ ...request.call, claim });
    await waitingForLock(sql, 1);
    proxy.hang();
    await lock.release();
    await eventually(async () => (await ledgerOf(sql, accountId)).used, 5);
    await expect(charge).rejects.toThrow();
    const doubt = 'the outcome of an earlier charge is unknown';
    await expect(ledger.charge(request.call)).rejects.toThrow(doubt);
    return { accountId, request, claim, close };
  }

  test('costs nothing, and its instance charges nothing meanwhile; the next sending is charged', async () => {
    const { accountId, request, close } = await chargeUnanswered();
    await close();
    const ledger = async () => {
      await refundOwed(sql);
      return ledgerOf(sql, accountId);
    };
    await eventually(ledger, { used: 0, credits: 0, calls: 0 });
    expect(await send(other, request)).toMatchObject({ spent: 5, isRepeated: false });
    expect((await ledgerOf(sql, accountId)).used).toBe(5);
  });

  test('stays charged when another sending has claimed the request and used it meanwhile', async () => {
    const { accountId, request, claim, close } = await chargeUnanswered();
    await expire(claim);
    expect(await send(other, request)).toMatchObject({ spent: 5, isRepeated: true });
    await close();
    await refundOwed(sql);
    await expectOneCharge(accountId);
  });
});
