import { afterAll, expect, test } from 'bun:test';
import { type AddressInfo, createServer } from 'node:net';
import { connectPostgres, type Sql } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';
import { startProxy, type TcpProxy } from '../../support/proxy.ts';
import { until } from '../../support/until.ts';

let first: TcpProxy;
let second: TcpProxy;
const pools: Sql[] = [];
const database = await createTestDatabase('hosts');
[first, second] = await Promise.all([startProxy(database.url), startProxy(database.url)]);
afterAll(async () => {
  for (const proxy of [first, second]) proxy.up();
  await Promise.all(pools.map((sql) => sql.end({ timeout: 1 })));
  await Promise.all([first, second].map((proxy) => proxy.close()));
  await database.drop();
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

const answers = (sql: Sql) =>
  sql`SELECT 1`.then(
    () => true,
    () => false,
  );

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
  const silent = createServer((socket) => {
    connections += 1;
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', () => resolve()));
  const sql = open(3, (silent.address() as AddressInfo).port);
  // Gives the query up before the connection: the next one still learns from it.
  const given = sql`SELECT 1`;
  given.catch(() => {});
  given.cancel();
  expect(await answers(sql)).toBe(true);
  const tried = connections;
  // The third connection of the pool is made now.
  expect(await Promise.all([answers(sql), answers(sql), answers(sql)])).toEqual([true, true, true]);
  expect(connections).toBe(tried);
  silent.close();
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
