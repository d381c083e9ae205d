import { afterAll, afterEach, expect, test } from 'bun:test';
import { createRefreshLeases } from '../../../src/companies/lookup/lease.ts';
import { createCompanyReader, forgetCompany } from '../../../src/companies/lookup/lookup-store.ts';
import { createRefresher } from '../../../src/companies/lookup/refresh.ts';
import { createRefreshBounds, RefreshesUsedUpError } from '../../../src/companies/lookup/refresh-bounds.ts';
import { createLogTo } from '../../../src/platform/observability/log.ts';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import { nif } from '../../support/companies.ts';
import { createTestDatabase, postgresUrl } from '../../support/database.ts';
import { startProxy } from '../../support/proxy.ts';
import { NO_DETAILS } from '../../support/records.ts';
import { createCaller } from '../../support/service.ts';
import { stopClock } from '../../support/stopped-clock.ts';
import { eventually } from '../../support/until.ts';

/** Shorter than the time in which a statement is answered, or given up. */
const LATE_LEASE_MS = 1500;

let next = 700;
const database = await createTestDatabase('leases');
const proxy = await startProxy(postgresUrl);
/** One connection that can get stuck. */
const slow = connectPostgres(proxy.url(database.url), { max: 1 });
const leases = createRefreshLeases(database.sql, 60_000);
afterEach(() => proxy.up());
afterAll(async () => {
  await slow.end({ timeout: 5 });
  await proxy.close();
  await database.drop();
});

const details = (title: string) => ({ ...NO_DETAILS, title });

async function titleOf(number: string): Promise<string | null> {
  const [row] = await database.sql<{ title: string }[]>`
    SELECT details->>'title' AS title FROM companies WHERE nif = ${number}`;
  return row?.title ?? null;
}

async function take({ acquire }: ReturnType<typeof createRefreshLeases>, number: string): Promise<string> {
  const attempt = await acquire(number);
  expect(attempt).toBeString();
  return attempt!;
}

/** Stores a record too late: the statement hangs on its connection until the lease has expired and `meanwhile` has run. */
async function storeLate(number: string, meanwhile: () => Promise<unknown>): Promise<void> {
  const late = createRefreshLeases(slow, LATE_LEASE_MS);
  const other = nif(next++);
  // From here on its statements are prepared, and sent in one piece.
  await late.completeWithRecord(other, await take(late, other), details('other'), 'nif.pt');
  const attempt = await take(late, number);
  proxy.hang();
  await expect(late.completeWithRecord(number, attempt, details('late'), 'nif.pt')).rejects.toThrow(
    'did not answer',
  );
  await meanwhile();
  proxy.up();
  await slow`SELECT 1`;
}

test('a record that is stored after its lease has run out overwrites no newer one', async () => {
  const number = nif(next++);
  await storeLate(number, async () => {
    const attempt = await take(leases, number);
    expect(await leases.completeWithRecord(number, attempt, details('newer'), 'vies')).toBe(true);
  });
  expect(await titleOf(number)).toBe('newer');
});

test('nor does it bring back one that was forgotten', async () => {
  const number = nif(next++);
  await leases.completeWithRecord(number, await take(leases, number), details('old'), 'nif.pt');
  await storeLate(number, () => forgetCompany(database.sql, number));
  expect(await titleOf(number)).toBeNull();
});

test('a lease that was taken when nobody waited for it any more is released', async () => {
  const long = createRefreshLeases(slow, 60_000);
  await take(long, nif(next++));
  const number = nif(next++);
  proxy.hang();
  await expect(long.acquire(number)).rejects.toThrow('did not answer');
  proxy.up();
  // The lease is returned on this connection, before the second of these.
  await slow`SELECT 1`;
  await slow`SELECT 1`;
  await take(leases, number);
});

test.each([
  ['found', 'failed'],
  ['failed', 'found'],
] as const)('an attempt that has %s can not be told that it has %s', async (first, then) => {
  const number = nif(next++);
  const attempt = await take(leases, number);
  for (const outcome of [first, then]) {
    if (outcome === 'failed') await leases.complete(number, attempt, outcome);
    else await leases.completeWithRecord(number, attempt, details('stored'), 'nif.pt');
  }
  expect([await leases.read(number), await titleOf(number)]).toEqual([
    first,
    first === 'found' ? 'stored' : null,
  ]);
});

/** A refresher of one source, which does `meanwhile` while it is asked. */
function refresherOf(meanwhile: (asked: number) => Promise<unknown>, providerTimeoutMs = 1000) {
  const { sql } = database;
  const log = createLogTo({ write() {} });
  const asked: string[] = [];
  const refresher = createRefresher({
    sql,
    providerTimeoutMs,
    ...createCompanyReader(sql, 60),
    bounds: createRefreshBounds(sql, null, log),
    log,
    sources: [
      {
        name: 'nif.pt',
        async find(number, permit) {
          await permit?.();
          asked.push(number);
          await meanwhile(asked.length);
          return { kind: 'found', details: details('found') };
        },
        async close() {},
      },
    ],
  });
  return { ...refresher, asked };
}

const newPayer = async () => ({
  accountId: (await createCaller(database.sql)).accountId,
  plan: 'free' as const,
  requestsPerMinute: 20,
});
const inTime = () => performance.now() + 20_000;
const expire = (number: string) => database.sql`
  UPDATE company_refreshes SET expires_at = clock_timestamp() WHERE nif = ${number}`;

test('a caller that has lost its lease gets the record of the attempt that has it now, and stores none', async () => {
  const number = nif(next++);
  const { refresh, asked } = refresherOf(async () => {
    await expire(number);
    await leases.completeWithRecord(number, await take(leases, number), details('newer'), 'vies');
  });
  expect(await refresh(number, await newPayer(), inTime())).toMatchObject({ source: 'vies' });
  expect([await titleOf(number), asked.length]).toEqual(['newer', 1]);
});

test('a caller that follows a dead attempt begins the refresh itself when that lease has expired', async () => {
  const number = nif(next++);
  await take(createRefreshLeases(database.sql, 200), number);
  const { refresh, asked } = refresherOf(async () => {});
  expect(await refresh(number, await newPayer(), inTime())).toMatchObject({ source: 'nif.pt' });
  expect(asked).toEqual([number]);
});

test('a caller whose record came after its lease begins again while it has time, and fails afterwards', async () => {
  const [number, late] = [nif(next++), nif(next++)];
  const again = refresherOf(async (asked) => asked === 1 && expire(number));
  expect(await again.refresh(number, await newPayer(), inTime())).toMatchObject({ source: 'nif.pt' });
  expect(again.asked).toHaveLength(2);
  const payer = await newPayer();
  const clock = stopClock();
  const untilMs = performance.now() + 1000;
  const slow = refresherOf(async () => {
    await expire(late);
    clock.pass(1000);
  });
  await expect(slow.refresh(late, payer, untilMs).finally(clock.restore)).rejects.toThrow('its lease');
  expect(await titleOf(late)).toBeNull();
});

test('a caller whose time is up begins nothing: no source is asked, no refresh taken, and the lease is free again', async () => {
  const number = nif(next++);
  const late = await newPayer();
  const { refresh, asked } = refresherOf(async () => {});
  await expect(refresh(number, late, performance.now())).rejects.toThrow('nobody waits');
  expect(await database.sql`SELECT 1 FROM account_refreshes WHERE account_id = ${late.accountId}`).toEqual(
    [] as never,
  );
  await eventually(() => leases.read(number), null);
  // A lookup that follows another instance's refresh doesn't wait until that lease expires.
  await take(leases, number);
  await expect(refresh(number, late, performance.now() + 100)).rejects.toThrow('did not end in time');
  expect(asked).toEqual([]);
});

test('a caller that has joined one whose time is up begins the refresh itself', async () => {
  const number = nif(next++);
  const { refresh, asked } = refresherOf(async () => {});
  const payer = await newPayer();
  const [late, patient] = [refresh(number, payer, performance.now()), refresh(number, payer, inTime())];
  await expect(late).rejects.toThrow('nobody waits');
  expect(await patient).toMatchObject({ nif: number, source: 'nif.pt' });
  expect(asked).toEqual([number]);
});

test('an account without refreshes left that is first to ask refuses no other account that waits with it', async () => {
  const [poor, rich] = [await newPayer(), await newPayer()];
  await database.sql`
    INSERT INTO account_refreshes (account_id, day, refreshes)
    VALUES (${poor.accountId}, (now() AT TIME ZONE 'UTC')::date, 200)`;
  const here = refresherOf(async () => {});
  const elsewhere = refresherOf(async () => {});
  for (const there of [here, elsewhere]) {
    const number = nif(next++);
    const refused = here.refresh(number, poor, inTime()).catch((error) => error);
    expect(await there.refresh(number, rich, inTime())).toMatchObject({ nif: number, source: 'nif.pt' });
    // Over two instances either may be first.
    const outcome = await refused;
    expect(outcome instanceof RefreshesUsedUpError || (there === elsewhere && outcome.nif === number)).toBe(
      true,
    );
  }
  expect(here.asked.length + elsewhere.asked.length).toBe(2);
});
