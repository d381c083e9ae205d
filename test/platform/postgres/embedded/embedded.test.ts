import { describe, expect, test } from 'bun:test';
import { chmodSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { prepareLayout } from '../../../../src/platform/postgres/embedded/paths.ts';
import { runCommand } from '../../../support/command.ts';
import {
  joinHere,
  layUsedDataDir,
  query,
  spawnHolder,
  startHolder,
  superuserUrl,
  useDirectories,
  usedDataDir,
} from './support.ts';

const socketFolder = (url: string) => decodeURIComponent(new URL(url).hostname);

const own = useDirectories();

describe('whoever comes first starts it, whoever leaves last stops it', () => {
  test('a database answers at the address, in a path with spaces, and nothing runs after the close', async () => {
    const dataDir = await usedDataDir();
    await using embedded = await joinHere(dataDir);
    const [row] = await query(
      embedded.url,
      `SELECT current_database() AS database, current_setting('server_encoding') AS encoding, current_setting('TimeZone')
       AS timezone, current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous,
       (SELECT datcollate FROM pg_database WHERE datname = current_database()) AS collation`,
    );
    expect(row).toEqual({
      database: 'company_directory',
      encoding: 'UTF8',
      timezone: 'UTC',
      fsync: 'on',
      synchronous: 'on',
      collation: 'C',
    });
  });

  test('two of one process share it, closing twice counts once', async () => {
    const dataDir = await usedDataDir();
    const [first, second] = await Promise.all([joinHere(dataDir), joinHere(dataDir)]);
    expect(second.url).toBe(first.url);
    await first.close();
    await first.close();
    expect(await query(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await second.close();
  });

  test('several first commands at once share one Postgres, and only the one that made the installation says so', async () => {
    const { dataDir: DATA_DIR } = own;
    const commands = Array.from({ length: 3 }, () => runCommand({ DATA_DIR }, 'account', 'list'));
    const outcomes = await Promise.all(commands);
    expect(outcomes.map(({ code }) => code)).toEqual([0, 0, 0]);
    const makers = outcomes.filter(({ stderr }) => stderr.includes('made a new embedded installation'));
    expect(makers).toHaveLength(1);
  });

  test('three processes that come and go without pause always find it answering', async () => {
    const dataDir = await usedDataDir();
    const visits = async () => {
      for (let visit = 0; visit < 3; visit++) {
        const holder = await startHolder(dataDir);
        expect(await query(holder.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
        expect(await holder.end('close')).toBe(0);
      }
    };
    await Promise.all(Array.from({ length: 3 }, visits));
  });

  test('a process that exits without closing has left', async () => {
    const dataDir = await usedDataDir();
    const holder = await startHolder(dataDir);
    expect(await holder.end('exit')).toBe(0);
  });

  test('a start that is aborted leaves nothing running', async () => {
    const dataDir = await layUsedDataDir(own.dataDir);
    const abort = new AbortController();
    const onLog = () => abort.abort(new Error('enough'));
    await expect(joinHere(dataDir, { signal: abort.signal, onLog })).rejects.toThrow('enough');
  });
});

describe('it is closed to others', () => {
  test('only the owner can read anything under DATA_DIR', async () => {
    const dataDir = await usedDataDir();
    await using _embedded = await joinHere(dataDir);
    const open = [
      dataDir,
      ...readdirSync(dataDir, { recursive: true }).map((name) => join(dataDir, String(name))),
    ]
      .map((path) => ({ path, mode: statSync(path, { throwIfNoEntry: false })?.mode ?? 0 }))
      .filter(({ mode }) => (mode & 0o077) !== 0);
    expect(open).toEqual([]);
  });

  test('it opens no port, and its socket lies in a folder that only its owner can enter', async () => {
    const dataDir = await usedDataDir();
    await using embedded = await joinHere(dataDir);
    const settings = await query(
      superuserUrl(dataDir),
      `SELECT current_setting('listen_addresses') AS address, current_setting('unix_socket_permissions') AS mode,
         inet_server_addr() AS peer`,
    );
    expect(settings).toEqual([{ address: '', mode: '0700', peer: null }]);
    const folder = socketFolder(embedded.url);
    expect(folder).toBe(prepareLayout(dataDir).cluster);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, '.s.PGSQL.5432')).isSocket()).toBe(true);
  });

  test('a DATA_DIR with too long a path has its socket in one private temporary folder', async () => {
    const deep = await layUsedDataDir(join(own.path, 'x'.repeat(120)));
    const first = await startHolder(deep);
    const second = await startHolder(deep);
    const folder = socketFolder(first.url);
    expect(second.url).toBe(first.url);
    expect(folder).not.toStartWith(own.path);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(await first.end('close')).toBe(0);
    expect(await query(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(await second.end('close')).toBe(0);
    // The next start uses it again, unless another user could have made it.
    const again = await joinHere(deep);
    expect(socketFolder(again.url)).toBe(folder);
    await again.close();
    chmodSync(folder, 0o755);
    const elsewhere = await joinHere(deep);
    expect(socketFolder(elsewhere.url)).not.toBe(folder);
    await elsewhere.close();
    for (const url of [again.url, elsewhere.url]) rmSync(socketFolder(url), { recursive: true });
  });

  test("the starter's environment, with its secrets, does not reach Postgres", async () => {
    const dataDir = await usedDataDir();
    const holder = await startHolder(dataDir, undefined, {
      NIF_PT_KEY: 'very-secret',
      PGOPTIONS: '-c work_mem=1GB',
    });
    const [row] = await query<{ environment: string }>(
      superuserUrl(dataDir),
      `CREATE TEMPORARY TABLE got (line text); COPY got FROM PROGRAM 'env'; SELECT string_agg(line, ' ') AS environment FROM got`,
    ).then((results) => results.flat().filter((entry) => 'environment' in entry));
    expect(row?.environment).toContain('TZ=UTC');
    expect(row?.environment).not.toContain('very-secret');
    expect(row?.environment).not.toContain('PGOPTIONS');
    await holder.end('close');
  });
});

test('several that are killed while they wait or start delay nobody', async () => {
  const dataDir = await layUsedDataDir(own.dataDir);
  const doomed = Array.from({ length: 3 }, () => spawnHolder(dataDir));
  for (const child of doomed) child.kill('SIGKILL');
  await Promise.all(doomed.map((child) => child.exited));
  await using embedded = await joinHere(dataDir);
  expect(await query(embedded.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('the service is no superuser: it owns its database, and may neither run programs nor read files', async () => {
  await using embedded = await joinHere(await usedDataDir());
  const rights = await query(
    embedded.url,
    `SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls,
       EXISTS (SELECT FROM pg_auth_members WHERE member = r.oid) AS memberships
     FROM pg_roles r WHERE rolname = current_user`,
  );
  expect(rights.flatMap(Object.entries).filter(([, hasRight]) => hasRight !== false)).toEqual([]);
  expect(rights).toHaveLength(1);
  for (const statement of [
    `CREATE TEMPORARY TABLE got (line text); COPY got FROM PROGRAM 'id'`,
    `SELECT pg_read_file('postgresql.conf')`,
    `SELECT rolpassword FROM pg_authid`,
  ]) {
    await expect(query(embedded.url, statement)).rejects.toThrow('permission denied');
  }
});

test.each([
  ['a role that may not log in', 'ALTER ROLE company_directory NOLOGIN'],
  ['neither database nor role', 'DROP DATABASE company_directory WITH (FORCE); DROP ROLE company_directory'],
])('cut short in the middle of the first start: %s is repaired at the next one', async (_, statements) => {
  const dataDir = await usedDataDir();
  const before = await joinHere(dataDir);
  for (const statement of statements.split('; ')) {
    await query(superuserUrl(dataDir, 'postgres'), statement);
  }
  await before.close();
  await using after = await joinHere(dataDir);
  const owner = 'SELECT datdba::regrole::text AS owner FROM pg_database WHERE datname = current_database()';
  expect(await query(after.url, owner)).toEqual([{ owner: 'company_directory' }]);
});
