import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { createRefreshLeases } from '../../src/lookup/lease.ts';
import { createRefresher } from '../../src/lookup/refresh.ts';
import { createCompanyReader, forgetCompany } from '../../src/lookup/store.ts';
import { createLogTo } from '../../src/observability/log.ts';
import { connectPostgres, type Sql } from '../../src/postgres/connect.ts';
import { nif } from '../directory/support.ts';
import { createTestDatabase, type TestDatabase, testServers } from '../support/database.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import { NO_DETAILS } from '../support/records.ts';
import { createCaller } from '../support/service.ts';

const LEASE_MS = 1500;

let database: TestDatabase;
let proxy: TcpProxy;
/** One connection that can get stuck. */
let slow: Sql;
let next = 700;
beforeAll(async () => {
  database = await createTestDatabase('leases');
  proxy = await startProxy(testServers().postgresUrl);
  slow = connectPostgres(proxy.url(database.url), { max: 1 });
});
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

async function take(leases: ReturnType<typeof createRefreshLeases>, number: string): Promise<string> {
  const lease = await leases.acquire(number);
  expect(lease.state).toBe('ours');
  return lease.attempt;
}

/** Has a lease whose `store` is stuck on its connection until the lease has run out, and `meanwhile` has happened. */
async function storeLate(number: string, meanwhile: () => Promise<unknown>): Promise<void> {
  const late = createRefreshLeases(slow, LEASE_MS);
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
    const leases = createRefreshLeases(database.sql, LEASE_MS);
    expect(
      await leases.completeWithRecord(number, await take(leases, number), details('newer'), 'vies'),
    ).toBe(true);
  });
  expect(await titleOf(number)).toBe('newer');
}, 10_000);

test('nor does it bring back one that was forgotten', async () => {
  const number = nif(next++);
  const leases = createRefreshLeases(database.sql, LEASE_MS);
  await leases.completeWithRecord(number, await take(leases, number), details('old'), 'nif.pt');
  await storeLate(number, () => forgetCompany(database.sql, number));
  expect(await titleOf(number)).toBeNull();
}, 10_000);

test('a lease that was taken when nobody waited for it any more is given back', async () => {
  const leases = createRefreshLeases(slow, 60_000);
  await take(leases, nif(next++));
  const number = nif(next++);
  proxy.hang();
  await expect(leases.acquire(number)).rejects.toThrow('did not answer');
  proxy.up();
  // The first statement behind it is the one that gives it back.
  await slow`SELECT 1`;
  await slow`SELECT 1`;
  await take(createRefreshLeases(database.sql, LEASE_MS), number);
}, 10_000);

test('an attempt that has stored its record has found it, though its process gave up waiting', async () => {
  const leases = createRefreshLeases(database.sql, LEASE_MS);
  const number = nif(next++);
  const attempt = await take(leases, number);
  expect(await leases.completeWithRecord(number, attempt, details('stored'), 'nif.pt')).toBe(true);
  await leases.complete(number, attempt, 'failed');
  expect(await leases.read(number)).toEqual({ state: 'ended', attempt, outcome: 'found' });
});

test('an attempt that was told a failure stores nothing afterwards', async () => {
  const leases = createRefreshLeases(database.sql, LEASE_MS);
  const number = nif(next++);
  const attempt = await take(leases, number);
  await leases.complete(number, attempt, 'failed');
  expect(await leases.completeWithRecord(number, attempt, details('late'), 'nif.pt')).toBe(false);
  expect(await titleOf(number)).toBeNull();
});

test('who has lost the lease answers what became of it: the record of another attempt, or a failure', async () => {
  const { sql } = database;
  const { accountId } = await createCaller(sql);
  const leases = createRefreshLeases(sql, LEASE_MS);
  for (const [isFoundByOthers, outcome, title] of [
    [true, 'found', 'newer'],
    [false, 'failed', null],
  ] as const) {
    const number = nif(next++);
    const refresher = createRefresher({
      sql,
      providerTimeoutMs: 0,
      ...createCompanyReader(sql, 60),
      log: createLogTo({ write() {} }),
      sources: [
        {
          name: 'nif.pt',
          async find() {
            await sql`UPDATE company_refreshes SET expires_at = clock_timestamp() WHERE nif = ${number}`;
            if (isFoundByOthers) {
              await leases.completeWithRecord(number, await take(leases, number), details('newer'), 'vies');
            }
            return { kind: 'found', details: details('late') };
          },
          async close() {},
        },
      ],
    });
    expect(await refresher.refresh(number, { accountId, requestsPerMinute: 20 })).toBe(outcome);
    expect(await titleOf(number)).toBe(title);
  }
});
