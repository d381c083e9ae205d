/** `backup` and `restore`: every row of every table comes back, or nothing changes. */
import { afterAll, expect, test } from 'bun:test';
import { copyFile, readdir, stat } from 'node:fs/promises';
import { readRemovable, readSequences, readTables } from '../../src/backup/catalogue.ts';
import { FILLED_WHEN_NEW, openBackup, restoreInto } from '../../src/backup/restore.ts';
import type { Sql } from '../../src/platform/postgres/connect.ts';
import { quoted } from '../../src/platform/postgres/identifier.ts';
import { prepareCommands } from '../platform/terminal/every-command.ts';
import {
  countMessages,
  createCommandLine,
  killCommandAt,
  outcomeOf,
  ROOT,
  runCommand,
} from '../support/command.ts';
import { csv } from '../support/companies.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { growAccount } from '../support/grown-account.ts';
import { NO_PROGRESS } from '../support/progress.ts';
import { createWorkbench } from '../support/workbench.ts';

const bench = await createWorkbench('postgres');
const { sql, url } = bench.database;
const { account } = await prepareCommands(bench);
await growAccount(sql, account, 30);
await bench.importText(csv(0, 50));
/** Of every form that a table of the migrations can have one day. The service itself makes the partitions. */
const TABLES = `
  CREATE TABLE parts (day date NOT NULL, n bigint GENERATED ALWAYS AS IDENTITY, word text COLLATE "C",
    PRIMARY KEY (day, n)) PARTITION BY RANGE (day);
  CREATE INDEX parts_by_word ON parts (word);
  CREATE TABLE "A table" ("a column" text DEFAULT 'x' CHECK ("a column" <> ''), bytes bytea, list text[], "of" json,
    twice text GENERATED ALWAYS AS ("a column" || "a column") STORED, later text GENERATED ALWAYS AS (upper("a column")),
    UNIQUE NULLS NOT DISTINCT (bytes)) WITH (fillfactor = 70);
  CREATE INDEX ON "A table" (lower("a column") text_pattern_ops) WHERE twice IS NOT NULL`;
await sql.unsafe(`${TABLES};
  CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM ('2026-11-01') TO ('2026-11-02') WITH (fillfactor = 50);
  CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM ('2026-11-02') TO ('2026-11-03');
  INSERT INTO parts (day, word) VALUES ('2026-11-01', E'tab\\t, line\\n, back\\\\slash'), ('2026-11-02', '\\.'), ('2026-11-02', NULL);
  INSERT INTO "A table" VALUES ('é', '\\x00ff', '{a,NULL,"b,c"}', '{"a": [1]}'), ('y', NULL, NULL, 'null')`);
const file = bench.path('directory.backup');
await createCommandLine(url).json('backup', file);
afterAll(() => bench.close());

/** A new database with these tables, too. */
async function createTarget(): Promise<TestDatabase> {
  const target = await createTestDatabase('restored');
  await target.sql.unsafe(TABLES);
  return target;
}

/** Every table of the database as Postgres itself lists them, with a digest of its rows in their order on disk. */
async function contentOf(sql: Sql): Promise<Record<string, string>> {
  const tables = await sql<{ name: string }[]>`
    SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1`;
  const content: Record<string, string> = {};
  for (const { name } of tables) {
    const [row] = await sql.unsafe<{ digest: string }[]>(
      `SELECT count(*) || ' ' || md5(coalesce(string_agg(t::text, E'\\n' ORDER BY tableoid, ctid), '')) AS digest
       FROM ${quoted(name)} AS t`,
    );
    // A backup keeps its own end, after it has copied the table.
    content[name] = name === 'command_runs' ? row!.digest.split(' ')[0]! : row!.digest;
  }
  return content;
}

/** The rest of a database: how its tables are made, their indexes, and where its sequences are. */
const schemaOf = async (sql: Sql) => ({
  tables: (await readTables(sql)).map(({ estimate, ...table }) => table),
  columns: await sql`
    SELECT table_name, column_name, data_type, collation_name, is_nullable, column_default, generation_expression FROM information_schema.columns
    WHERE table_schema = current_schema() ORDER BY 1, ordinal_position`,
  sequences: await readSequences(sql),
  removable: await readRemovable(sql),
});

test('a restored database has every row of every table, its indexes, constraints, triggers and sequences', async () => {
  await using target = await createTarget();
  const report = await createCommandLine(target.url).json('restore', file);
  const content = await contentOf(bench.database.sql);
  expect(await contentOf(target.sql)).toEqual(content);
  expect(await schemaOf(target.sql)).toEqual(await schemaOf(bench.database.sql));
  const filled = Object.values(content).filter((digest) => !/^0\b/.test(digest));
  expect(filled.length).toBeGreaterThan(25);
  expect(report).toEqual({
    restored: file,
    of: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    tables: Object.keys(content).length - 2, // the rows of a partitioned table are its partitions'
    rows: expect.any(Number),
    next: null,
    milliseconds: expect.any(Number),
  });
  // Rows are counted on, and numbers given on, from where they were.
  const count = (sql: Sql) => sql`INSERT INTO parts (day) VALUES ('2026-11-01') RETURNING n`;
  expect([...(await count(target.sql))]).toEqual([...(await count(bench.database.sql))]);
  await target.sql`DELETE FROM parts WHERE word IS NULL`;
  await bench.database.sql`DELETE FROM parts WHERE word IS NULL AND day = '2026-11-01'`;
});

/** Runs a line of the shell, in which $0 is Bun. @returns exit code, stdout and stderr */
async function shell(line: string, env: Record<string, string>): Promise<[number, string, string]> {
  const child = Bun.spawn(['bash', '-c', `set -o pipefail; ${line}`, process.execPath], {
    env: { PATH: process.env.PATH!, ...env },
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  const { code, stdout, stderr } = await outcomeOf(child);
  return [code, stdout, stderr];
}

test('a pipe carries a backup, and the answer is beside it', async () => {
  await using target = await createTarget();
  const [code, stdout, stderr] = await shell(
    'DATABASE_URL=$FROM "$0" src/main.ts backup - --json | DATABASE_URL=$TO "$0" src/main.ts restore - --json',
    { FROM: bench.database.url, TO: target.url },
  );
  expect([code, stderr]).toEqual([0, expect.stringContaining('AUTH_SECRET is not in the file')]);
  expect(stderr).toMatch(/^\{"file":"-","bytes":\d+,"milliseconds":\d+\}$/m);
  expect(stderr).toContain('such as revoked keys, works again: end it before the service starts');
  expect(JSON.parse(stdout)).toMatchObject({ restored: '-', next: null });
  expect(await contentOf(target.sql)).toEqual(await contentOf(bench.database.sql));
});

test('the file is its owner’s alone, also over one that was open to others', async () => {
  const open = await bench.write('open.backup', 'old');
  await Bun.$`chmod 644 ${open}`;
  const { run } = createCommandLine(bench.database.url);
  const { code, stderr } = await run('backup', open);
  expect([code, stderr]).toEqual([0, expect.stringContaining('AUTH_SECRET is not in the file')]);
  expect((await stat(open)).mode & 0o777).toBe(0o600);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

/** Copies of the file with a fault, by what is said of it. */
async function broken(): Promise<Record<string, string[]>> {
  const whole = await Bun.file(file).bytes();
  const at = (share: number) => Math.floor(whole.length * share);
  const unpacked = await Bun.zstdDecompress(whole);
  const text = unpacked.toString('latin1');
  const unpack = (bytes: Uint8Array) => Bun.zstdDecompress(bytes).catch(() => null);
  /** With another bit, behind that share. Of every 2,500 bits that are changed so, one changes nothing. */
  const flipped = async (share: number) => {
    for (let from = at(share); ; from += 1) {
      const copy = whole.slice();
      copy[from]! ^= 0x10;
      if (!(await unpack(copy))?.equals(unpacked)) return copy;
    }
  };
  const packed = (change: (text: string) => string) => {
    const changed = change(text);
    expect(changed).not.toBe(text);
    return Bun.zstdCompress(Buffer.from(changed, 'latin1'));
  };
  const write = (name: string, bytes: Uint8Array) => bench.write(name, bytes);
  return {
    'is damaged or cut off': [
      ...(await Promise.all(
        [0, 5, at(0.01), at(0.3), at(0.7), ...[30, 6, 5, 4, 3, 2, 1].map((lost) => whole.length - lost)].map(
          (length) => write(`cut-${length}`, whole.slice(0, length)),
        ),
      )),
      ...(await Promise.all(
        [0.02, 0.3, 0.5, 0.9].map(async (share) => write(`bit-${share}`, await flipped(share))),
      )),
      ...(await Promise.all(
        [Buffer.from('x'), Buffer.alloc(3), whole, Bun.zstdCompressSync('more')].map((more, n) =>
          write(`more-${n}`, Buffer.concat([whole, more])),
        ),
      )),
      await write('other-row', await packed((text) => text.replace('Full disk', 'Full Disk'))),
      ...(await Promise.all(
        ['9e99', '-5', '1.5'].map(async (length) =>
          write(
            `length${length}`,
            await packed((text) => text.replace(/\naccounts \d+\n/, `\naccounts ${length}\n`)),
          ),
        ),
      )),
    ],
    'is no backup': [
      await bench.write('text', 'nif,legal_name\n'),
      await write('zstd', Bun.zstdCompressSync('something else\n')),
      await write('format', await packed((text) => text.replace('backup 1"', 'backup 2"'))),
    ],
    'was written by another version': [
      await write('version', await packed((text) => text.replace(/("0001_accounts":")\w+/, '$1abc'))),
      await write('less', await packed((text) => text.replace(/"0001_accounts":"\w+",/, ''))),
    ],
  };
}

test('a broken file, and one of another version, is one line, and nothing has changed', async () => {
  await using target = await createTarget();
  const before = await contentOf(target.sql);
  const { run } = createCommandLine(target.url);
  for (const [fault, files] of Object.entries(await broken())) {
    for (const path of files) {
      const { code, stdout, stderr } = await run('restore', path);
      const lines = stderr.trimEnd().split('\n');
      expect([code, stdout, lines.at(-1), lines.filter((line) => line.startsWith('error: ')).length]).toEqual(
        [1, '', expect.stringMatching(new RegExp(`^error: ${path}: ${fault}.*: nothing has changed`)), 1],
      );
    }
  }
  expect(await contentOf(target.sql)).toEqual(before);
});

test('a pipe that ends early, or has another row, leaves the database as it was', async () => {
  await using target = await createTarget();
  const before = await contentOf(target.sql);
  const faults = (await broken())['is damaged or cut off']!;
  const named = (end: RegExp) => faults.find((path) => end.test(path))!;
  for (const path of [
    named(/cut-\d{3,}$/),
    named(/other-row$/),
    faults.findLast((path) => /cut-/.test(path))!,
  ]) {
    const env = { DATABASE_URL: target.url, FILE: path };
    const [code, , stderr] = await shell('"$0" src/main.ts restore - < "$FILE"', env);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^error: standard input: is damaged or cut off: nothing has changed/m),
    ]);
    expect(await contentOf(target.sql)).toEqual(before);
  }
});

test('a broken file makes no new installation', async () => {
  const dataDir = bench.path('no-data');
  const { code } = await runCommand({ DATA_DIR: dataDir }, 'restore', await bench.write('broken', 'x'));
  expect([code, (await readdir(bench.path('.'))).includes('no-data')]).toEqual([1, false]);
});

test('a backup goes into an empty database only', async () => {
  const before = await contentOf(bench.database.sql);
  const { refusal } = createCommandLine(bench.database.url);
  expect(await refusal('restore', file)).toEqual({
    code: 1,
    stderr: expect.stringMatching(
      /^error: a backup is restored into an empty database only.*nothing has changed$/m,
    ),
  });
  expect(await contentOf(bench.database.sql)).toEqual(before);
});

test('a database that only its migrations have written to is empty', async () => {
  await using fresh = await createTestDatabase('fresh');
  const filled = Object.entries(await contentOf(fresh.sql)).filter(([, digest]) => !/^0\b/.test(digest));
  expect(filled.map(([name]) => name)).toEqual(FILLED_WHEN_NEW);
});

test('a backup that is killed leaves the file of the last one, and the next one works', async () => {
  const path = bench.path('again.backup');
  await copyFile(file, path);
  const before = await Bun.file(path).bytes();
  const env = { DATABASE_URL: bench.database.url };
  const total = await countMessages(env, 'backup', bench.path('counted.backup'));
  for (const fraction of [0.3, 0.6, 0.9]) await killCommandAt({ fraction, total }, env, 'backup', path);
  expect(await Bun.file(path).bytes()).toEqual(before);
  await createCommandLine(bench.database.url).json('backup', path);
  const leftovers = (await readdir(bench.path('.'))).filter((name) => name.endsWith('.tmp'));
  expect(leftovers).toEqual([]);
});

test('a restore that is killed at any moment leaves an empty database, which the next one fills', async () => {
  const measured = await createTarget();
  const total = await countMessages({ DATABASE_URL: measured.url }, 'restore', file);
  await measured.drop();
  await using target = await createTarget();
  const before = await contentOf(target.sql);
  const env = { DATABASE_URL: target.url };
  for (const fraction of [0.3, 0.5, 0.8, 0.95]) {
    await killCommandAt({ fraction, total }, env, 'restore', file);
    expect(await contentOf(target.sql)).toEqual(before);
  }
  await createCommandLine(target.url).json('restore', file);
  expect((await contentOf(target.sql)).accounts).toBe((await contentOf(bench.database.sql)).accounts!);
});

test('a restore that is interrupted between two statements changes nothing', async () => {
  await using target = await createTarget();
  const before = await contentOf(target.sql);
  for (const at of ['storing the rows', 'building the indexes']) {
    const controller = new AbortController();
    const tools = { databaseUrl: target.url, sql: target.sql, signal: controller.signal };
    const phase = (name: string) => name === at && controller.abort(new Error('interrupted'));
    const reader = await openBackup(file, tools.signal, NO_PROGRESS);
    const restoring = restoreInto(tools, reader, { ...NO_PROGRESS, phase });
    await expect(restoring).rejects.toThrow('interrupted');
    expect(await contentOf(target.sql)).toEqual(before);
  }
});

test('a disk that is full is one line', async () => {
  if (process.platform !== 'linux') return;
  const { code, stdout, stderr } = await runCommand(
    { DATABASE_URL: bench.database.url },
    'backup',
    '/dev/full',
  );
  expect([code, stdout, stderr]).toEqual([
    1,
    '',
    expect.stringMatching(/^error: \/dev\/full: no space left on the disk$/m),
  ]);
});
