/** postgres.js with its patch: every statement gets its own answer, whatever happens to its connection. */
import { afterAll, afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import postgres from 'postgres';
import { connectPostgres, type Sql, type Transaction } from '../../../src/platform/postgres/connect.ts';
import { openDedicated } from '../../../src/platform/postgres/dedicated.ts';
import { withTimeout } from '../../../src/platform/runtime/timeout.ts';
import { createTestDatabase } from '../../support/database.ts';
import { startProxy } from '../../support/proxy.ts';
import { until } from '../../support/until.ts';

const database = await createTestDatabase('connections');
let sql: Sql;
beforeEach(async () => {
  sql = connectPostgres(database.url, { max: 1 });
  // Known to the connection, so that it sends the parameter at once.
  await sql`SELECT ${'a'}::text AS known`;
});
afterEach(() => sql.end({ timeout: 0 }));
afterAll(() => database.drop());

/** Ends the pool's one connection from the side of Postgres, as a restart does. */
async function terminate(pid: number): Promise<void> {
  await database.sql`SELECT pg_terminate_backend(${pid}, 5000)`;
}

/** The outcome of a query: `answered`, or the code of its error. */
const outcomeOf = (query: PromiseLike<unknown>): Promise<string> =>
  Promise.try(() => query).then(
    () => 'answered',
    (error: { code?: string }) => String(error.code),
  );

const firstColumns = async (rows: PromiseLike<readonly object[]>[]) =>
  (await Promise.all(rows)).map((rows) => rows.map((row) => Object.values(row)[0]));

async function pidOf(of: Sql | Transaction = sql): Promise<number> {
  const [row] = await of<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  return row!.pid;
}

/** Waits until a connection's statement has begun to sleep. */
const untilAsleep = (pid: number) =>
  until('the statement', async () => {
    const [row] = await database.sql`
      SELECT 1 FROM pg_stat_activity WHERE pid = ${pid} AND wait_event = 'PgSleep'`;
    return row !== undefined;
  });

test('the first query after a connection that was lost in the middle of one succeeds', async () => {
  const pid = await pidOf();
  const lost = outcomeOf(sql`SELECT pg_sleep(10)`);
  await untilAsleep(pid);
  await terminate(pid);
  expect(await lost).toBe('CONNECTION_CLOSED');
  expect(await pidOf()).not.toBe(pid);
});

test('a transaction whose connection is lost fails none of those who wait for the next one', async () => {
  const pid = await pidOf();
  const lost = outcomeOf(sql.begin((transaction) => transaction`SELECT pg_sleep(10)`));
  await untilAsleep(pid);
  const waiting = firstColumns([1, 2, 3].map((n) => sql`SELECT ${n}::int AS n`));
  await terminate(pid);
  expect(await lost).toBe('CONNECTION_CLOSED');
  expect(await waiting).toEqual([[1], [2], [3]]);
});

test('a connection whose query was given up while it was made serves the next one', async () => {
  const pool = connectPostgres(database.url, { max: 1 });
  const givenUp = pool`SELECT 1`.execute();
  const outcome = outcomeOf(givenUp);
  givenUp.cancel();
  expect(await outcome).toBe('57014');
  expect(await withTimeout(pidOf(pool), 2000, 'the pool')).toBeNumber();
  await pool.end({ timeout: 5 });
});

test('a transaction whose connection is lost while it waits for something else stores nothing', async () => {
  await database.sql`CREATE TABLE stored (n int)`;
  const transaction = sql.begin(async (transaction) => {
    await transaction`INSERT INTO stored VALUES (1)`;
    await terminate(await pidOf(transaction));
    await until('another connection', async () => (await outcomeOf(sql`SELECT 1`)) === 'answered');
    expect(await outcomeOf(transaction`INSERT INTO stored VALUES (2)`)).toBe('CONNECTION_CLOSED');
    ended.resolve();
  });
  const ended = Promise.withResolvers<void>();
  await expect(transaction).rejects.toThrow('CONNECTION_CLOSED');
  await ended.promise;
  expect([...(await database.sql`SELECT n FROM stored`)]).toEqual([]);
});

test('a host that accepts connections and ends them fails the query at once, and is asked with pauses', async () => {
  const attemptsAtMs: number[] = [];
  const server = createServer((socket) => {
    attemptsAtMs.push(performance.now());
    socket.on('error', () => {});
    socket.end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const pool = connectPostgres(`postgres://user@127.0.0.1:${port}/name`, { max: 1 });
  for (let query = 0; query < 3; query += 1)
    expect(await outcomeOf(pool`SELECT 1`)).toBe('CONNECTION_CLOSED');
  expect(attemptsAtMs).toHaveLength(3);
  const [first, , third] = attemptsAtMs;
  expect(third! - first!).toBeGreaterThan(400);
  await pool.end({ timeout: 0 });
  server.close();
});

test('a query takes the connection that was used last, and what a pool remembers does not grow with its queries', async () => {
  const pool = connectPostgres(database.url, { max: 3 });
  await Promise.all([1, 2, 3].map(() => pool`SELECT pg_sleep(0.1)`));
  const { indexOf } = Array.prototype;
  let longest = 0;
  // With each query the pool searches a list for the connection that it has taken.
  using _search = spyOn(Array.prototype, 'indexOf').mockImplementation(function (this: unknown[], ...sought) {
    if ((sought[0] as { idleTimer?: unknown } | null)?.idleTimer) longest = Math.max(longest, this.length);
    return indexOf.apply(this, sought);
  });
  const pids = new Set<number>();
  for (let n = 0; n < 100; n += 1) pids.add(await pidOf(pool));
  await pool.end();
  expect(pids.size).toBe(1);
  expect(longest).toBeWithin(1, 10);
});

test('every session but a dedicated one ends after ten minutes, and by itself when it is idle in a transaction for 30 s, also without other limits', async () => {
  const dedicated = openDedicated(database.url, {});
  const limits = [];
  // As commands open their pool, and as they open the connection of their lock.
  for (const of of [sql, dedicated]) {
    const [row] = await of`SHOW idle_in_transaction_session_timeout`;
    limits.push([of.options.max_lifetime, row!.idle_in_transaction_session_timeout]);
  }
  expect(limits).toEqual([
    [600, '30s'],
    [null, '0'],
  ]);
  await dedicated.end();
});

/** Can't be sent, as an invalid date can't. */
const unsendable = {
  toString() {
    throw new Error('unsendable');
  },
} as unknown as string;

const upTo = (n: number) => sql`SELECT i, 100 / (${n} - i) AS quotient FROM generate_series(1, 100) i`;

const FAILURES: Record<string, () => PromiseLike<unknown>> = {
  'an error before any row': () => upTo(1),
  'an error amid the rows': () => upTo(50),
  'an error amid the rows of a simple query': () =>
    sql.unsafe('SELECT 1 AS n; SELECT 1 / n AS q FROM (VALUES (1), (0)) v (n)'),
  'a statement timeout amid the rows': () =>
    sql.begin(async (sql) => {
      await sql`SET LOCAL statement_timeout = '50ms'`;
      await sql`SELECT i, pg_sleep(0.001) FROM generate_series(1, 10000) i`;
    }),
  'a syntax error': () => sql`SELECT ${1}::int FROM`,
  'a parameter that can not be sent, of a new statement': () => sql`SELECT ${unsendable}::text AS new`,
  'a parameter that can not be sent, of a known statement': () => sql`SELECT ${unsendable}::text AS known`,
  'an undefined parameter': () => sql`SELECT ${undefined as unknown as string}::text AS known`,
  'too many parameters': () => sql.unsafe('SELECT 1', Array(70_000).fill(1)),
};

describe.each(Object.entries(FAILURES))('after %s', (_, fail) => {
  test('the next statement gets its own answer', async () => {
    expect(await outcomeOf(fail())).not.toBe('answered');
    expect(await firstColumns([sql`SELECT 5 AS n`, sql`SELECT 6 AS n`])).toEqual([[5], [6]]);
  });

  test('the statements in flight with it get theirs', async () => {
    const before = sql`SELECT 1 AS n, pg_sleep(0.02)`.execute();
    const failed = outcomeOf(fail());
    expect(await firstColumns([before, sql`SELECT 2 AS n`, sql`SELECT 3 AS n`])).toEqual([[1], [2], [3]]);
    expect(await failed).not.toBe('answered');
    expect(await firstColumns([sql`SELECT 5 AS n`, sql`SELECT 6 AS n`])).toEqual([[5], [6]]);
  });
});

/**
 * The faults that patches/postgres@3.4.9.patch mends. The sockets are real, but the test decides when they fail and close: in
 * the turn in which a query was put off to the next turn, which otherwise takes luck.
 */
describe('a connection that closes in a turn that the test chooses', () => {
  let sql: Sql;
  let socket: Socket;
  /** A socket that should write this closes instead. */
  let closeAt: string | undefined;

  beforeEach(async () => {
    const { hostname, port } = new URL(database.url);
    const open = async () => {
      socket = connect(Number(port), hostname);
      await once(socket, 'connect');
      const { write } = socket;
      const opened = socket;
      socket.write = ((bytes: Buffer) => {
        if (closeAt === undefined || !bytes.includes(closeAt)) return write.call(opened, bytes);
        opened.destroy();
        return true;
      }) as typeof write;
      return socket;
    };
    // `socket` is an option that the types don't have.
    const options = { max: 1, connect_timeout: 10, backoff: () => 0.05, socket: open };
    sql = postgres(database.url, options as postgres.Options<Record<string, postgres.PostgresType>>) as Sql;
    await sql`SELECT 1`;
  });
  afterEach(() => sql.end({ timeout: 0 }));

  /** `SELECT 1`, put off to the next turn, which has not begun yet. Without the patch some of these queries never settle. */
  async function askInThisTurn(): Promise<{ outcome: Promise<string> }> {
    const query = sql`SELECT 1`.execute();
    for (let i = 0; i < 20; i += 1) await Promise.resolve();
    return { outcome: outcomeOf(query) };
  }

  test('a connection that is lost while it asks for the array types fails its query, and no promise that nobody has', async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', note);
    closeAt = 'pg_type';
    socket.destroy();
    await once(socket, 'close');
    expect(await outcomeOf(sql`SELECT 1`)).toBe('CONNECTION_CLOSED');
    await Bun.sleep(0);
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
    closeAt = undefined;
    expect(await outcomeOf(sql`SELECT 1`)).toBe('answered');
  });

  test('a connection that closes while a query waits to be written is used again', async () => {
    const { outcome } = await askInThisTurn();
    const closed = socket;
    closed.emit('close', false);
    closed.destroy();
    expect(await outcome).toBe('CONNECTION_CLOSED');
    expect(await outcomeOf(sql`SELECT 1`)).toBe('answered');
  });

  test('a query that comes between the error and the close of its connection fails', async () => {
    socket.emit('error', new Error('reset'));
    const { outcome } = await askInThisTurn();
    const closed = socket;
    closed.emit('close', true);
    closed.destroy();
    expect(await outcome).toBe('CONNECTION_CLOSED');
    expect(await outcomeOf(sql`SELECT 1`)).toBe('answered');
  });
});

const [first, second] = await Promise.all([startProxy(database.url), startProxy(database.url)]);

describe('of several hosts', () => {
  const pools: Sql[] = [];
  afterAll(async () => {
    for (const proxy of [first, second]) proxy.up();
    await Promise.all(pools.map((sql) => sql.end({ timeout: 1 })));
    await Promise.all([first, second].map((proxy) => proxy.close()));
  });

  /** A pool on both proxies, or another first host, the first one first. */
  function open(max = 1, firstPort = first.port): Sql {
    const { username, password, pathname } = new URL(database.url);
    const hosts = [firstPort, second.port].map((port) => `127.0.0.1:${port}`).join(',');
    const url = `postgres://${username}:${password}@${hosts}${pathname}?target_session_attrs=primary`;
    const sql = connectPostgres(url, { max, statementTimeoutMs: 1000 });
    pools.push(sql);
    return sql;
  }

  const answers = async (sql: Sql) => (await outcomeOf(sql`SELECT 1`)) === 'answered';

  test('a host that refuses is passed over, and each connection begins with the host that answered last', async () => {
    first.down();
    const sql = open(3);
    expect(await Promise.all([answers(sql), answers(sql), answers(sql)])).toEqual([true, true, true]);
    first.up();
    second.down();
    await until('the first host', () => answers(sql));
    second.up();
  });

  test('a host that accepts and says nothing is tried once for the whole pool', async () => {
    let connections = 0;
    const accept = () => {
      connections += 1;
    };
    const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { open: accept, data() {} } });
    const sql = open(3, silent.port);
    // Gives the query up before the connection: the next one still learns from it.
    const given = sql`SELECT 1`;
    given.catch(() => {});
    given.cancel();
    expect(await answers(sql)).toBe(true);
    const tried = connections;
    // The third connection of the pool is made now.
    expect(await Promise.all([answers(sql), answers(sql), answers(sql)])).toEqual([true, true, true]);
    expect(connections).toBe(tried);
    silent.stop(true);
  });

  test('when every host refuses, the query fails instead of waiting', async () => {
    first.down();
    second.down();
    const sql = open();
    expect(await answers(sql)).toBe(false);
    first.up();
    second.up();
    await until('a host', () => answers(sql));
  });
});
