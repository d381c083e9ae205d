import { expect, test } from 'bun:test';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { readConfig } from '../../src/platform/config/config.ts';
import { connectPostgres } from '../../src/platform/postgres/connect.ts';
import { openStores } from '../../src/platform/stores/stores.ts';
import { runCommand, runHere } from '../support/command.ts';
import '../support/modes.ts';
import { createEmptyDatabase } from '../support/database.ts';
import { createTestEnvironment } from '../support/service.ts';

test('a store that can not be closed is reported, and the others are still closed', async () => {
  const { env, remove } = await createTestEnvironment({ mode: 'full' });
  const lines: string[] = [];
  const stores = await openStores(readConfig(env), { onLog: (line) => lines.push(line) });
  stores.elasticsearch!.close = () => Promise.reject(new Error('it hangs\nand hangs'));
  await stores.close();
  expect(lines).toEqual(['closing Elasticsearch failed: it hangs']);
  // Fails if a connection to Postgres was left open.
  await remove();
});

test('a database whose encoding is not UTF-8 is refused with one line and exit code 2, unchanged', async () => {
  const { url, drop } = await createEmptyDatabase(
    'ascii',
    `ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LOCALE 'C'`,
  );
  for (const [run, ...words] of [
    [runCommand, 'serve'],
    [runHere, 'migrate', '--json'],
  ] as const) {
    const { code, stdout, stderr } = await run({ DATABASE_URL: url }, ...words);
    expect([code, stdout, stderr]).toEqual([
      2,
      '',
      'error: DATABASE_URL names a database with the encoding SQL_ASCII: make another with ' +
        "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0\n",
    ]);
  }
  const sql = connectPostgres(url, { max: 1 });
  expect((await sql`SELECT FROM pg_tables WHERE schemaname = 'public'`).length).toBe(0);
  await sql.end();
  await drop();
});

test.each([
  ['default_transaction_read_only = on', /^DATABASE_URL names a database that only reads/],
  [
    'search_path = nowhere',
    /^the database \w+ can't be migrated by the role \w+: no schema has been selected to create in: check DATABASE_URL$/,
  ],
])('a database that can not be migrated is refused in one line (%s)', async (setting, reason) => {
  const { url, drop } = await createEmptyDatabase('closed');
  const sql = connectPostgres(url, { max: 1 });
  await sql.unsafe(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET ${setting}`);
  await sql.end();
  const opening = openStores(readConfig({ DATABASE_URL: url }));
  await expect(opening).rejects.toThrow(reason);
  await drop();
});

test('connections that do not take our settings, as those of a pooler, are refused with one line and exit code 2', async () => {
  const { url, drop } = await createEmptyDatabase('settings');
  // As a pooler does, it drops a setting with which a connection begins: no timeout of statements is left.
  const pooler = await startBetween(url, {
    sent: (text) => text.replace(/(?<=statement_timeout\0)\d+/, (ms) => '0'.repeat(ms.length)),
  });
  const env = { DATABASE_URL: pooler.url, PORT: '0' };
  const { code, stderr } = await runCommand(env, 'serve');
  expect(code).toBe(2);
  expect(stderr).toMatch(
    /^error: DATABASE_URL leads to connections that do not take our settings .+ PgBouncer\n$/,
  );
  const sql = connectPostgres(url, { max: 1 });
  expect((await sql`SELECT FROM pg_tables WHERE schemaname = 'public'`).length).toBe(0);
  await sql.end();
  await pooler.close();
  await drop();
});

test('Postgres older than 18 ends the start with exit code 1 and its version, unchanged', async () => {
  const { url, drop } = await createEmptyDatabase('old');
  const old = await startBetween(url, { answered: (text) => text.replace(/18\d{4}/, '170010') });
  const { code, stdout, stderr } = await runCommand({ DATABASE_URL: old.url }, 'serve');
  expect([code, stdout, stderr]).toEqual([
    1,
    '',
    'error: DATABASE_URL leads to Postgres 17.10; the service needs 18 or newer\n',
  ]);
  await old.close();
  await drop();
});

type Change = (text: string) => string;

/** A server between Postgres and its clients that changes what they say. */
async function startBetween(url: string, { sent, answered }: { sent?: Change; answered?: Change }) {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const changed = (change: Change = (text) => text) =>
    new Transform({
      transform: (chunk: Buffer, _encoding, done) =>
        done(null, Buffer.from(change(chunk.toString('latin1')), 'latin1')),
    });
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    client.pipe(changed(sent)).pipe(upstream).pipe(changed(answered)).pipe(client);
    for (const socket of [client, upstream]) sockets.add(socket.on('error', () => {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const address = new URL(url);
  address.port = String((server.address() as AddressInfo).port);
  return {
    url: address.href,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
