import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { openEmbeddedPostgres } from '../../../../src/platform/postgres/embedded/embedded.ts';
import {
  explainFileError,
  explainProgram,
} from '../../../../src/platform/postgres/embedded/embedded-errors.ts';
import { prepareLayout } from '../../../../src/platform/postgres/embedded/paths.ts';
import { runCommand } from '../../../support/command.ts';
import { until } from '../../../support/until.ts';
import {
  disposeSeed,
  layUsedDataDir,
  postgresPid,
  query,
  spawnHolder,
  startHolder,
  temporaryDirectory,
  usedDataDir,
} from './support.ts';

let directory: ReturnType<typeof temporaryDirectory>;
let dataDir: string;

beforeEach(() => {
  directory = temporaryDirectory();
  dataDir = join(directory.path, 'data');
});

afterEach(() => directory.dispose());
afterAll(disposeSeed);

const isRoot = process.getuid?.() === 0;
const answers = (url: string) =>
  query(url, 'SELECT 1').then(
    () => true,
    () => false,
  );

describe('after a kill -9', () => {
  test('of the only user, the next one joins the Postgres left behind, and stops it when it leaves', async () => {
    dataDir = await usedDataDir();
    const holder = await startHolder(dataDir);
    const pid = postgresPid(dataDir);
    await holder.kill('SIGKILL');
    expect(postgresPid(dataDir)).toBe(pid);
    const next = await openEmbeddedPostgres(dataDir);
    expect(next.url).toBe(holder.url);
    expect(postgresPid(dataDir)).toBe(pid);
    await next.close();
    expect(postgresPid(dataDir)).toBeNull();
  });

  test('of everything, the next one recovers what was committed', async () => {
    dataDir = await usedDataDir();
    const holder = await startHolder(dataDir);
    await query(holder.url, 'CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n');
    const pid = postgresPid(dataDir)!;
    await holder.kill('SIGKILL');
    process.kill(pid, 'SIGKILL');
    const next = await openEmbeddedPostgres(dataDir);
    expect(postgresPid(dataDir)).not.toBe(pid);
    expect(await query(next.url, 'SELECT sum(n)::int AS sum FROM kept')).toEqual([{ sum: 500_500 }]);
    await next.close();
    expect(postgresPid(dataDir)).toBeNull();
  });

  test('of Postgres alone, the next one starts it again at the address that its users know', async () => {
    dataDir = await usedDataDir();
    const holders = await Promise.all([startHolder(dataDir), startHolder(dataDir)]);
    const url = holders[0]!.url;
    await query(url, 'CREATE TABLE alone AS SELECT 7 AS n');
    const pid = postgresPid(dataDir)!;
    process.kill(pid, 'SIGKILL');
    await until('the end', () => postgresPid(dataDir) === null);
    const next = await openEmbeddedPostgres(dataDir);
    expect(next.url).toBe(url);
    expect(await query(url, 'SELECT n FROM alone')).toEqual([{ n: 7 }]);
    await next.close();
    expect(postgresPid(dataDir)).not.toBeNull();
    for (const holder of holders) expect(await holder.end('close')).toBe(0);
    expect(postgresPid(dataDir)).toBeNull();
  });

  test('of the process that is making the data directory, the next one makes it again and leaves no remains', async () => {
    const child = spawnHolder(dataDir);
    const home = join(dataDir, 'postgres');
    const entries = () => {
      try {
        return readdirSync(home, { recursive: true }).map(String);
      } catch {
        return [];
      }
    };
    await until('its half', () => entries().some((name) => /^cluster\.new-\w+\/base/.test(name)));
    child.kill('SIGKILL');
    await child.exited;
    expect(entries()).not.toContain('cluster');
    await (await openEmbeddedPostgres(dataDir)).close();
    const again = await openEmbeddedPostgres(dataDir);
    expect(await answers(again.url)).toBe(true);
    await again.close();
    expect(entries().filter((name) => name.includes('cluster.new') || name.includes('initdb'))).toEqual([]);
  });
});

describe('what others did', () => {
  test('Ctrl-C in the terminal of the one that started it does not stop it while another uses it', async () => {
    dataDir = await usedDataDir();
    const starter = await startHolder(dataDir);
    const other = await startHolder(dataDir);
    const session = (pid: number) =>
      Bun.spawnSync(['ps', '-o', 'sid=', '-p', String(pid)])
        .stdout.toString()
        .trim();
    expect(session(postgresPid(dataDir)!)).not.toBe(session(starter.pid));
    await starter.kill('SIGINT');
    expect(await answers(other.url)).toBe(true);
    await other.end('close');
    expect(postgresPid(dataDir)).toBeNull();
  });

  test('a PID file whose number now belongs to another process is not believed', async () => {
    dataDir = await usedDataDir();
    const stale = `${process.pid}\n/somewhere\n1700000000\n5432\n.\n\n  1  1\nready   \n`;
    writeFileSync(join(dataDir, 'postgres', 'cluster', 'postmaster.pid'), stale);
    const embedded = await openEmbeddedPostgres(dataDir);
    expect(await answers(embedded.url)).toBe(true);
    await embedded.close();
  });

  test('a Postgres whose lock was deleted gets no second one on its files', async () => {
    await layUsedDataDir(dataDir);
    const first = await openEmbeddedPostgres(dataDir);
    const pid = postgresPid(dataDir)!;
    const { running, cluster } = prepareLayout(dataDir);
    rmSync(running);
    await expect(openEmbeddedPostgres(dataDir)).rejects.toThrow(/^another Postgres that runs claims /);
    expect(await answers(first.url)).toBe(true);
    process.kill(pid, 'SIGINT');
    await until('its end', () => !readdirSync(cluster).includes('postmaster.pid'));
    await first.close();
  });

  test('a copy of DATA_DIR that was made while Postgres ran starts beside it', async () => {
    dataDir = await usedDataDir();
    const first = await openEmbeddedPostgres(dataDir);
    const copy = join(directory.path, 'copy');
    expect(Bun.spawnSync(['cp', '-a', dataDir, copy]).exitCode).toBe(0);
    const second = await openEmbeddedPostgres(copy);
    expect([await answers(first.url), await answers(second.url)]).toEqual([true, true]);
    expect(postgresPid(copy)).not.toBe(postgresPid(dataDir));
    await Promise.all([first.close(), second.close()]);
  });
});

describe('what can’t work ends with one line that says what to do', () => {
  const failure = async (path = dataDir) => {
    const error: Error = await openEmbeddedPostgres(path).then(
      () => Promise.reject(new Error('it opened')),
      (reason) => reason,
    );
    expect(error.message).not.toContain('\n');
    return error.message;
  };

  test('data of another Postgres version', async () => {
    dataDir = await usedDataDir();
    const file = join(dataDir, 'postgres', 'cluster', 'PG_VERSION');
    const version = readFileSync(file, 'utf8');
    writeFileSync(file, '17\n');
    expect(await failure()).toMatch(/was written by Postgres 17 and can't be read by Postgres 18: dump it/);
    writeFileSync(file, version);
    await (await openEmbeddedPostgres(dataDir)).close();
  });

  test('embedded data of other migrations', async () => {
    await layUsedDataDir(dataDir);
    const { url, close } = await openEmbeddedPostgres(dataDir);
    await query(url, "CREATE TABLE schema_migrations AS SELECT '0001_accounts' AS name, '' AS sha256");
    await close();
    const { code, stderr } = await runCommand({ DATA_DIR: dataDir }, 'account', 'list');
    expect([code, stderr]).toEqual([
      1,
      `error: the data in DATA_DIR ${dataDir} is of another version (its migration 0001_accounts differs): ` +
        'start that version, or set DATA_DIR to a new folder\n',
    ]);
  });

  test('a data directory that is not whole, or can’t be entered, is left as it is', async () => {
    await layUsedDataDir(dataDir);
    const { home, cluster } = prepareLayout(dataDir);
    const aside = join(directory.path, 'aside');
    renameSync(cluster, aside);
    const cases: [() => void, RegExp][] = [
      [
        () => mkdirSync(cluster),
        /^.*cluster is no whole data directory of Postgres \(it has no PG_VERSION\): /,
      ],
      [() => symlinkSync(join(home, 'gone'), cluster), /^.*cluster is no whole data directory/],
      [() => symlinkSync(cluster, cluster), /ELOOP/],
      [
        () => mkdirSync(cluster, { mode: 0 }),
        isRoot ? /is no whole data directory/ : /can't be written \(EACCES\)/,
      ],
    ];
    for (const [make, reason] of cases) {
      make();
      expect(await failure()).toMatch(reason);
      expect(readdirSync(home).filter((name) => name.startsWith('cluster'))).toEqual(['cluster']);
      rmSync(cluster, { recursive: true, force: true });
    }
    renameSync(aside, cluster);
    await (await openEmbeddedPostgres(dataDir)).close();
  });

  test('a DATA_DIR that is a file', async () => {
    writeFileSync(dataDir, '');
    expect(await failure()).toBe(
      `DATA_DIR ${dataDir} is not a directory: remove that file or set DATA_DIR to another path`,
    );
  });

  test('a DATA_DIR that can’t be made', async () => {
    const tooLong = join(directory.path, 'x'.repeat(300));
    // Nobody but root gets so far there.
    for (const path of process.getuid?.() === 0 ? ['/proc/company-directory', tooLong] : [tooLong]) {
      const said = await failure(path);
      expect(said).toStartWith(`DATA_DIR ${path} can't be made or used (E`);
      expect(said).toMatch(/^[^\n]+\): set DATA_DIR to another path$/);
    }
  });

  test('a DATA_DIR that can’t be written', async () => {
    let closed = '/sys/company-directory';
    if (process.getuid?.() !== 0) {
      mkdirSync(dataDir, { mode: 0o500 });
      chmodSync(dataDir, 0o500);
      writeFileSync(join(directory.path, 'x'), '');
      closed = join(dataDir, 'below');
    }
    expect(await failure(closed)).toMatch(
      /^DATA_DIR .* can't be written \(E(PERM|ACCES)\): let this user own it, or set/,
    );
  });

  test('a user without a name, and a full disk', () => {
    const output = 'initdb: error: could not look up effective user ID 12345: user does not exist';
    expect(explainProgram(dataDir, 'no set-up', output).message).toBe(
      'Postgres needs a user with a name, and the one with ID 12345 has none: add it to /etc/passwd, use another user, or set DATABASE_URL',
    );
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    expect(explainFileError(full, '/data').message).toBe(
      'the disk that holds DATA_DIR /data is full: free some space and try again',
    );
  });

  test('a write that failed leaves one file at most, which the next one replaces', () => {
    const { home } = prepareLayout(dataDir);
    const path = join(home, 'endpoint.json');
    const layout = JSON.stringify(
      join(import.meta.dir, '../../../../src/platform/postgres/embedded/paths.ts'),
    );
    const script = `const { prepareLayout, writePrivateFile } = await import(${layout});
      writePrivateFile(prepareLayout(${JSON.stringify(dataDir)}), ${JSON.stringify(path)}, 'x');`;
    const write = () => Bun.spawnSync([process.execPath, '-e', script]).exitCode;
    mkdirSync(path);
    for (let start = 0; start < 3; start++) expect(write()).not.toBe(0);
    expect(readdirSync(home)).toEqual(['endpoint.json', 'endpoint.json.new']);
    rmSync(path, { recursive: true });
    expect(write()).toBe(0);
    expect(readdirSync(home)).toEqual(['endpoint.json']);
  });

  test('settings that Postgres refuses, with its own reason', async () => {
    await layUsedDataDir(dataDir);
    writeFileSync(join(dataDir, 'postgres', 'cluster', 'postgresql.conf'), 'work_mem = nonsense\n');
    expect(await failure()).toMatch(
      /^the embedded Postgres does not start: .*postgresql\.conf.*\(see .*postgres\.log\)$/,
    );
  });
});
