/** A balancer that keeps connections to a Postgres that was demoted. Postgres itself ends them, and a balancer may make them again. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { codeOf } from '../../src/platform/errors.ts';
import { createPools } from '../../src/platform/postgres/pools.ts';
import { type PostgresPair, startPostgresPair } from '../support/postgres-pair.ts';
import { until } from '../support/until.ts';

let pair: PostgresPair;
let balancer: Server;
/** The server that new connections reach. */
let target: URL;
const sockets = new Set<Socket>();
beforeAll(async () => {
  pair = await startPostgresPair();
  target = new URL(pair.standbyUrl);
  balancer = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) sockets.add(socket.on('error', end).on('close', end));
    client.pipe(upstream).pipe(client);
  }).listen(0, '127.0.0.1');
  await once(balancer, 'listening');
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  balancer.close();
  await pair.stop();
});

test('a pool that is connected to a standby finds the primary, although nobody closes its connections', async () => {
  const url = new URL(pair.standbyUrl);
  url.port = String((balancer.address() as AddressInfo).port);
  const pools = createPools(url.href);
  const sql = pools.open({ max: 1, statementTimeoutMs: 1000 });
  const create = () =>
    sql`CREATE TABLE IF NOT EXISTS written ()`.then(
      () => 'written',
      (error) => codeOf(error),
    );
  expect(await create()).toBe('25006');
  const connections = sockets.size;
  await until('canaries on the standby', () => sockets.size > connections + 4);
  target = new URL(pair.url.replace(/,[^/]+/, ''));
  await until('the primary', async () => (await create()) === 'written');
  await pools.close({ timeout: 1 });
});
