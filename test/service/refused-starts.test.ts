/** Starts that are refused, each in one line, and stores that can't be closed. */
import { afterAll, expect, spyOn, test } from 'bun:test';
import { readConfig } from '../../src/platform/config/config.ts';
import { openStores } from '../../src/platform/stores/stores.ts';
import { runCommand, runHere } from '../support/command.ts';
import '../support/modes.ts';
import { createEmptyDatabase } from '../support/database.ts';
import { startProxy } from '../support/proxy.ts';
import { createTestEnvironment, startInProcess } from '../support/service.ts';
import { until } from '../support/until.ts';

/** Changes what passes a proxy, which keeps its length. */
const changing = (change: (text: string) => string) => (piece: Buffer) =>
  void piece.write(change(piece.toString('latin1')), 'latin1');

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
  const ascii = `ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LOCALE 'C'`;
  await using database = await createEmptyDatabase('ascii', ascii);
  for (const [run, ...words] of [
    [runCommand, 'serve'],
    [runHere, 'migrate', '--json'],
  ] as const) {
    const { code, stdout, stderr } = await run({ DATABASE_URL: database.url }, ...words);
    expect([code, stdout, stderr]).toEqual([
      2,
      '',
      'error: DATABASE_URL names a database with the encoding SQL_ASCII: make another with ' +
        "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0\n",
    ]);
  }
  expect(await database.sql`SELECT FROM pg_tables WHERE schemaname = 'public'`).toHaveLength(0);
});

test.each([
  ['default_transaction_read_only = on', /^DATABASE_URL names a database that only reads/],
  [
    'search_path = nowhere',
    /^the database \w+ can't be migrated by the role \w+: no schema has been selected to create in: check DATABASE_URL$/,
  ],
])('a database that can not be migrated is refused in one line (%s)', async (setting, reason) => {
  await using database = await createEmptyDatabase('closed');
  await database.sql.unsafe(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET ${setting}`);
  const opening = openStores(readConfig({ DATABASE_URL: database.url }));
  await expect(opening).rejects.toThrow(reason);
});

test('connections that do not take our settings, as those of a pooler, are refused with one line and exit code 2', async () => {
  await using database = await createEmptyDatabase('settings');
  // As a pooler does, it drops a setting with which a connection begins: no timeout of statements is left.
  const dropped = changing((text) =>
    text.replace(/(?<=statement_timeout\0)\d+/, (ms) => '0'.repeat(ms.length)),
  );
  const pooler = await startProxy(database.url, { sent: dropped });
  const env = { DATABASE_URL: pooler.url(database.url), PORT: '0' };
  const { code, stderr } = await runCommand(env, 'serve');
  expect(code).toBe(2);
  expect(stderr).toMatch(
    /^error: DATABASE_URL leads to connections that do not take our settings .+ PgBouncer\n$/,
  );
  expect(await database.sql`SELECT FROM pg_tables WHERE schemaname = 'public'`).toHaveLength(0);
  await pooler.close();
});

test('Postgres older than 18 ends the start with exit code 1 and its version, unchanged', async () => {
  await using database = await createEmptyDatabase('old');
  const old = await startProxy(database.url, {
    answered: changing((text) => text.replace(/18\d{4}/, '170010')),
  });
  const { code, stdout, stderr } = await runCommand({ DATABASE_URL: old.url(database.url) }, 'serve');
  expect([code, stdout, stderr]).toEqual([
    1,
    '',
    'error: DATABASE_URL leads to Postgres 17.10; the service needs 18 or newer\n',
  ]);
  await old.close();
});

const environment = await createTestEnvironment();
// Fails if a process has left a connection to the database open.
afterAll(() => environment.remove());

const start = (env: Record<string, string>, ...words: string[]) =>
  runCommand({ ...environment.env, ...env }, 'serve', ...words);

const HERE = { hostname: '127.0.0.1', port: 0 };

test.each([
  ['another program', () => Bun.listen({ ...HERE, socket: { data() {} } })],
  // A server of Bun with this option lets others share its port.
  ['another service', () => Bun.serve({ ...HERE, reusePort: true, fetch: () => new Response() })],
])('on a port that %s has the service does not start, exit 1', async (_, take) => {
  const listener = take();
  const { port } = listener;
  const { code, stderr } = await start({ PORT: String(port) });
  listener.stop(true);
  const taken = `127.0.0.1:${port}`;
  expect([code, stderr]).toEqual([
    1,
    `error: can't listen on ${taken}: something listens there already: stop it, or set another PORT (or HOST)\n`,
  ]);
});

test('the port of a service with PORT=0 is its own from its choice on', async () => {
  const { hang, up, url, close } = await startProxy(environment.env.DATABASE_URL!);
  hang();
  using listening = spyOn(Bun, 'listen');
  const starting = startInProcess({ ...environment.env, DATABASE_URL: url(environment.env.DATABASE_URL!) });
  await until('the choice', () => listening.mock.results.length === 1);
  const { port } = listening.mock.results[0]!.value as { port: number };
  expect(() => Bun.listen({ ...HERE, port, socket: { data() {} } })).toThrow('Failed to listen');
  up();
  const service = await starting;
  expect(new URL(service.baseUrl).port).toBe(String(port));
  await service.stop();
  await close();
});

test.each(['0', '3000'])(
  'with a HOST of another machine and PORT=%s it does not start, exit 1',
  async (PORT) => {
    const { code, stderr } = await start({ HOST: '192.0.2.1', PORT });
    expect([code, stderr]).toEqual([
      1,
      `error: can't listen on 192.0.2.1:${PORT}: HOST is no address of this machine\n`,
    ]);
  },
);
