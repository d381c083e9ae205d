import { describe, expect, test } from 'bun:test';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import {
  explainFileError,
  explainProgram,
} from '../../../../src/platform/postgres/embedded/embedded-errors.ts';
import { prepareLayout, writePrivateFile } from '../../../../src/platform/postgres/embedded/paths.ts';
import { runCommand } from '../../../support/command.ts';
import { until } from '../../../support/until.ts';
import {
  joinHere,
  layUsedDataDir,
  postgresPid,
  query,
  spawnHolder,
  startHolder,
  useDirectories,
  usedDataDir,
} from './support.ts';

const own = useDirectories();

const isRoot = process.getuid?.() === 0;
const answers = (url: string) =>
  query(url, 'SELECT 1').then(
    () => true,
    () => false,
  );

describe('after a kill -9', () => {
  test('of the only user, the next one joins the Postgres left behind, and stops it when it leaves', async () => {
    const dataDir = await usedDataDir();
    const holder = await startHolder(dataDir);
    const pid = postgresPid(dataDir);
    await holder.kill('SIGKILL');
    expect(postgresPid(dataDir)).toBe(pid);
    await using next = await joinHere(dataDir);
    expect(next.url).toBe(holder.url);
    expect(postgresPid(dataDir)).toBe(pid);
  });

  test('of everything, the next one recovers what was committed', async () => {
    const dataDir = await usedDataDir();
    const holder = await startHolder(dataDir);
    await query(holder.url, 'CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n');
    const pid = postgresPid(dataDir)!;
    await holder.kill('SIGKILL');
    process.kill(pid, 'SIGKILL');
    await using next = await joinHere(dataDir);
    expect(postgresPid(dataDir)).not.toBe(pid);
    expect(await query(next.url, 'SELECT sum(n)::int AS sum FROM kept')).toEqual([{ sum: 500_500 }]);
  });

  test('of Postgres alone, the next one starts it again at the address that its users know', async () => {
    const dataDir = await usedDataDir();
    const holders = await Promise.all([startHolder(dataDir), startHolder(dataDir)]);
    const url = holders[0]!.url;
    await query(url, 'CREATE TABLE alone AS SELECT 7 AS n');
    const pid = postgresPid(dataDir)!;
    process.kill(pid, 'SIGKILL');
    await until('the end', () => postgresPid(dataDir) === null);
    const next = await joinHere(dataDir);
    expect(next.url).toBe(url);
    expect(await query(url, 'SELECT n FROM alone')).toEqual([{ n: 7 }]);
    await next.close();
    expect(postgresPid(dataDir)).not.toBeNull();
    for (const holder of holders) expect(await holder.end('close')).toBe(0);
  });

  test('of the process that is making the data directory, the next one makes it again and leaves no remains', async () => {
    const { dataDir } = own;
    const child = spawnHolder(dataDir);
    const home = join(dataDir, 'postgres');
    const entries = () => (existsSync(home) ? readdirSync(home, { recursive: true }).map(String) : []);
    await until('its half', () => entries().some((name) => /^cluster\.new-\w+\/base/.test(name)));
    child.kill('SIGKILL');
    await child.exited;
    expect(entries()).not.toContain('cluster');
    await (await joinHere(dataDir)).close();
    await using again = await joinHere(dataDir);
    expect(await answers(again.url)).toBe(true);
    expect(entries().filter((name) => name.includes('cluster.new') || name.includes('initdb'))).toEqual([]);
  });
});

describe('what others did', () => {
  test('Ctrl-C in the terminal of the one that started it does not stop it while another uses it', async () => {
    const dataDir = await usedDataDir();
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
  });

  test('a PID file whose number now belongs to another process is not believed', async () => {
    const dataDir = await usedDataDir();
    const stale = `${process.pid}\n/somewhere\n1700000000\n5432\n.\n\n  1  1\nready   \n`;
    writeFileSync(join(dataDir, 'postgres', 'cluster', 'postmaster.pid'), stale);
    await using embedded = await joinHere(dataDir);
    expect(await answers(embedded.url)).toBe(true);
  });

  test('a Postgres whose lock was deleted gets no second one on its files', async () => {
    const dataDir = await layUsedDataDir(own.dataDir);
    await using first = await joinHere(dataDir);
    const pid = postgresPid(dataDir)!;
    const { running, cluster } = prepareLayout(dataDir);
    rmSync(running);
    await expect(joinHere(dataDir)).rejects.toThrow(/^another Postgres that runs claims /);
    expect(await answers(first.url)).toBe(true);
    process.kill(pid, 'SIGINT');
    await until('its end', () => !readdirSync(cluster).includes('postmaster.pid'));
  });

  test('a copy of DATA_DIR that was made while Postgres ran starts beside it', async () => {
    const dataDir = await usedDataDir();
    await using first = await joinHere(dataDir);
    const copy = join(own.path, 'copy');
    expect(Bun.spawnSync(['cp', '-a', dataDir, copy]).exitCode).toBe(0);
    await using second = await joinHere(copy);
    expect([await answers(first.url), await answers(second.url)]).toEqual([true, true]);
    expect(postgresPid(copy)).not.toBe(postgresPid(dataDir));
  });
});

describe('what can’t work ends with one line that says what to do', () => {
  const failure = async (dataDir: string) => {
    const error: Error = await joinHere(dataDir).then(
      () => Promise.reject(new Error('it opened')),
      (reason) => reason,
    );
    expect(error.message).not.toContain('\n');
    return error.message;
  };

  test('data of another Postgres version', async () => {
    const dataDir = await usedDataDir();
    const file = join(dataDir, 'postgres', 'cluster', 'PG_VERSION');
    const version = readFileSync(file, 'utf8');
    writeFileSync(file, '17\n');
    expect(await failure(dataDir)).toMatch(
      /was written by Postgres 17 and can't be read by Postgres 18: dump it/,
    );
    writeFileSync(file, version);
    await (await joinHere(dataDir)).close();
  });

  test('embedded data of other migrations', async () => {
    const dataDir = await layUsedDataDir(own.dataDir);
    const { url, close } = await joinHere(dataDir);
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
    const { home, cluster } = prepareLayout(own.dataDir);
    const isNotWhole = /^.*cluster is no whole data directory of Postgres \(it has no PG_VERSION\): /;
    for (const [make, reason] of [
      [() => mkdirSync(cluster), isNotWhole],
      [() => symlinkSync(join(home, 'gone'), cluster), isNotWhole],
      [() => symlinkSync(cluster, cluster), /ELOOP/],
      [() => mkdirSync(cluster, { mode: 0 }), isRoot ? isNotWhole : /can't be written \(EACCES\)/],
    ] as const) {
      make();
      expect(await failure(own.dataDir)).toMatch(reason);
      expect(readdirSync(home).filter((name) => name.startsWith('cluster'))).toEqual(['cluster']);
      rmSync(cluster, { recursive: true, force: true });
    }
  });

  test('a DATA_DIR that is a file, can’t be made, or can’t be written', async () => {
    const below = (name: string) => join(own.path, name);
    writeFileSync(below('file'), '');
    mkdirSync(below('closed'), { mode: 0o500 });
    const unwritable = /can't be written \(E(PERM|ACCES)\): let this user own it, or set [^\n]+$/;
    const unusable = /can't be made or used \(E[^\n]+\): set DATA_DIR to another path$/;
    for (const [path, reason] of [
      [below('file'), /is not a directory: remove that file or set DATA_DIR to another path$/],
      [below('x'.repeat(300)), unusable],
      // Nobody but root gets so far there.
      ...(isRoot ? ([['/proc/ours', unusable]] as const) : []),
      [isRoot ? '/sys/ours' : below('closed/data'), unwritable],
    ] as const) {
      const said = await failure(path);
      expect(said).toMatch(reason);
      expect(said).toStartWith(`DATA_DIR ${path} `);
    }
  });

  test('a user without a name, and a full disk', () => {
    const output = 'initdb: error: could not look up effective user ID 12345: user does not exist';
    expect(explainProgram(own.dataDir, 'no set-up', output).message).toBe(
      'Postgres needs a user with a name, and the one with ID 12345 has none: add it to /etc/passwd, use another user, or set DATABASE_URL',
    );
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    expect(explainFileError(full, '/data').message).toBe(
      'the disk that holds DATA_DIR /data is full: free some space and try again',
    );
  });

  test('a write that failed leaves one file at most, which the next one replaces', () => {
    const layout = prepareLayout(own.dataDir);
    const { home, endpoint } = layout;
    const write = () => writePrivateFile(layout, endpoint, 'x');
    mkdirSync(endpoint);
    for (let start = 0; start < 3; start++) expect(write).toThrow();
    expect(readdirSync(home)).toEqual(['endpoint.json', 'endpoint.json.new']);
    rmSync(endpoint, { recursive: true });
    write();
    expect(readdirSync(home)).toEqual(['endpoint.json']);
  });

  test('settings that Postgres refuses, with its own reason', async () => {
    const dataDir = await layUsedDataDir(own.dataDir);
    writeFileSync(join(dataDir, 'postgres', 'cluster', 'postgresql.conf'), 'work_mem = nonsense\n');
    expect(await failure(dataDir)).toMatch(
      /^the embedded Postgres does not start: .*postgresql\.conf.*\(see .*postgres\.log\)$/,
    );
  });
});
