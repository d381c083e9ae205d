import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { createAccount } from '../../../src/metering/accounts/account-store.ts';
import { VERSION } from '../../../src/platform/version.ts';
import {
  bareEnvironment,
  createCommandLine,
  MAIN,
  ROOT,
  runBun,
  runCommand,
  runHere,
} from '../../support/command.ts';
import { createTestDatabase } from '../../support/database.ts';
import { createFolder } from '../../support/folder.ts';

/** The address of no Postgres: a command that ends before it connects works with it. */
const NOWHERE = { DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none' };

const COMMANDS = [
  'serve',
  'migrate',
  'account create',
  'account list',
  'account show',
  'account plan',
  'account limits',
  'account credits',
  'account suspend',
  'account resume',
  'key create',
  'key list',
  'key revoke',
  'companies import',
  'companies show',
  'companies forget',
  'debts import',
  'index rebuild',
  'index rollback',
  'index status',
];

test('a command starts with few packages: the server and Elasticsearch load theirs when they are used', async () => {
  const script = `await import(${JSON.stringify(MAIN)}); console.log(JSON.stringify(Object.keys(require.cache)))`;
  const { json } = await runBun(NOWHERE, '-e', script);
  const packages = (json as string[]).flatMap(
    (path) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [],
  );
  expect([...new Set(packages)].toSorted()).toEqual(['@sinclair/typebox', 'commander', 'postgres']);
});

describe('--help', () => {
  for (const command of COMMANDS) {
    test(`of ${command}: an example that begins with it, and exit code 0`, async () => {
      const { code, stdout } = await runHere(NOWHERE, ...command.split(' '), '--help');
      expect(code).toBe(0);
      expect(stdout).toMatch(/Examples?:\n/);
      expect(stdout).toContain(`bun directory ${command}`);
      if (command !== 'serve') expect(stdout).toContain('--json');
    });
  }

  test('of each command for a customer who writes says when it is the one', async () => {
    const page = await Bun.file(join(ROOT, 'docs/operating.md')).text();
    const [, section] = /^## When a customer writes$(.*?)^## /ms.exec(page)!;
    const named = [...section!.matchAll(/`((?:account|key) [a-z-]+)/g)].map(([, command]) => command!);
    expect(new Set(named).size).toBeGreaterThan(6);
    for (const command of new Set(named)) {
      const { stdout } = await runHere(NOWHERE, ...command.split(' '), '--help');
      expect([command, stdout]).toEqual([command, expect.stringMatching(/When a customer writes\b/)]);
    }
  });

  test('beside it, --version prints the version alone', async () => {
    expect(await runHere(NOWHERE, '--version')).toMatchObject({
      code: 0,
      stdout: `${VERSION}\n`,
      stderr: '',
    });
  });

  test('of the program and of each group lists what is in it', async () => {
    const groups = new Map<string, string[]>();
    for (const [group, word] of COMMANDS.map((command) => command.split(' '))) {
      groups.set(group!, [...(groups.get(group!) ?? []), ...(word === undefined ? [] : [word])]);
    }
    const program = await runHere(NOWHERE, '--help');
    expect(program.code).toBe(0);
    for (const [group, words] of groups) {
      expect(program.stdout).toContain(`  ${group} `);
      if (words.length === 0) continue;
      const { code, stdout } = await runHere(NOWHERE, group, '--help');
      expect(code).toBe(0);
      for (const word of words) expect(stdout).toContain(`  ${word} `);
    }
  });
});

test('wrong usage ends with exit code 2, a line that begins with error, and nothing on stdout', async () => {
  const wrong = [
    ['nonsense'],
    ['account', 'nonsense'],
    ['account', 'show'],
    ['account', 'show', 'a', 'b'],
    ['account', 'list', '--nonsense'],
    ['account', 'create', '--name'],
    ['migrate', 'now'],
    ['key', 'create'],
    ['companies', 'import', ''],
    ['companies', 'import', 'a.csv', '--rejects', ''],
    ['debts', 'export', '--kind', 'tax', '--output', ' '],
  ];
  const outcomes = await Promise.all(wrong.map((words) => runHere(NOWHERE, ...words)));
  for (const [index, { code, stdout, stderr }] of outcomes.entries()) {
    expect([wrong[index], code, stdout]).toEqual([wrong[index], 2, '']);
    expect(stderr).toMatch(/^error: /);
  }
});

test('no command, or a group alone, shows what there is on stderr and ends with exit code 2', async () => {
  for (const words of [[], ['account'], ['index']]) {
    const { code, stdout, stderr } = await runHere(NOWHERE, ...words);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('Usage: directory');
  }
});

test('a Postgres that is not there is one line, exit code 1, nothing on stdout', async () => {
  for (const [run, ...words] of [
    [runHere, 'account', 'list', '--json'],
    [runCommand, 'serve'],
  ] as const) {
    const { code, stdout, stderr } = await run({ ...NOWHERE, PORT: '0' }, ...words);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^error: Postgres can't be reached: [^\n]+\n$/);
    expect(stderr).not.toContain('nobody');
  }
});

test('a Postgres that accepts connections and is silent is named, in plain words', async () => {
  const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  const address = `127.0.0.1:${silent.port}`;
  const { code, stderr } = await runHere({ DATABASE_URL: `postgres://u@${address}/db` }, 'account', 'list');
  silent.stop(true);
  expect([code, stderr]).toEqual([
    1,
    `error: Postgres can't be reached: no answer from ${address}: check DATABASE_URL and the server\n`,
  ]);
});

test('a full disk of Postgres is said with what to do, in one line', async () => {
  await using database = await createTestDatabase('cli_disk');
  await database.sql`
    CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN RAISE EXCEPTION $$could not extend file "base/1"$$ USING ERRCODE = $$disk_full$$; END'`.simple();
  await database.sql`CREATE TRIGGER fill BEFORE INSERT ON accounts EXECUTE FUNCTION fill()`;
  const { refusal } = createCommandLine(database.url);
  expect(await refusal('account', 'create', '--name', 'A')).toEqual({
    code: 1,
    stderr: `error: could not extend file "base/1": free some space on Postgres's disk and run it again\n`,
  });
});

test('options stand anywhere after the words', async () => {
  await using database = await createTestDatabase('cli_usage');
  const { run } = createCommandLine(database.url);
  const { stdout } = await run('account', 'create', '--json', '--plan=plus', '--name', 'Anywhere');
  const { id } = JSON.parse(stdout);
  for (const words of [
    ['account', 'credits', '--add', '5', id, '--json'],
    ['account', 'credits', '--json', id, '--add', '5'],
    ['account', 'credits', id, '--json', '--add=5'],
    ['account', 'plan', id, '--json', 'plus'],
    ['account', 'plan', '--json', '--until', '2999-01-01T00:00:00Z', id, 'plus'],
  ]) {
    expect([words, (await run(...words)).code]).toEqual([words, 0]);
  }
  expect(JSON.parse((await run('account', 'show', '--json', id)).stdout).credits).toBe(15);
});

test.each([
  ['account list --json', 'true'],
  // A long answer that is printed in parts, and whose reader leaves in its middle.
  ['account export acc_long', 'head -2'],
])('%s ends in one line and exit code 1 if its reader is gone', async (command, reader) => {
  await using database = await createTestDatabase('cli_usage');
  await database.sql`INSERT INTO accounts (id, name) VALUES ('acc_long', 'Long')`;
  await database.sql`
    INSERT INTO balances (account_id, plan, period_plan, period_start, period_end)
    VALUES ('acc_long', 'free', 'free', now(), now() + interval '1 day')`;
  await database.sql`
    INSERT INTO account_events (account_id, kind, actor, note)
    SELECT 'acc_long', 'plan', 'test', repeat('x', 1000) FROM generate_series(1, 2000)`;
  const script = `{ "$0" src/main.ts ${command}; echo "exit code $?" >&2; } | ${reader} > /dev/null`;
  const pipeline = Bun.spawn(['sh', '-c', script, process.execPath], {
    cwd: ROOT,
    env: { ...bareEnvironment(), DATABASE_URL: database.url },
    stderr: 'pipe',
  });
  expect(await new Response(pipeline.stderr).text()).toMatch(
    /^error: the answer could not be written: EPIPE[^\n]*\nexit code 1\n$/,
  );
});

test('an answer that the disk has no room for is a failure', async () => {
  await using database = await createTestDatabase('cli_usage');
  const child = Bun.spawn(['sh', '-c', '"$0" src/main.ts account list > /dev/full', process.execPath], {
    cwd: ROOT,
    env: { ...bareEnvironment(), DATABASE_URL: database.url },
    stderr: 'pipe',
  });
  expect(await new Response(child.stderr).text()).toMatch(
    /^error: the answer could not be written: ENOSPC[^\n]*\n$/,
  );
  expect(await child.exited).toBe(1);
});

test('a command ends when its work is done, whatever is still open, and its whole answer arrives', async () => {
  const folder = createFolder('held-open');
  const database = await createTestDatabase('cli_usage');
  try {
    const preload = join(folder, 'preload.ts');
    await Bun.write(preload, 'setInterval(() => {}, 60_000);');
    const { sql, url } = database;
    // More than a pipe holds.
    const accounts = Array.from({ length: 400 }, () => ({
      name: '\u5546'.repeat(200),
      plan: 'free' as const,
    }));
    await Promise.all(accounts.map((account) => createAccount(sql, account, 'test')));
    for (const [words, env, expected] of [
      [['account', 'list', '--json'], { DATABASE_URL: url }, 0],
      [['account', 'show', 'acc_none'], { DATABASE_URL: url }, 1],
      [['account', '--unknown'], {}, 2],
      [['--help'], {}, 0],
    ] as const) {
      const { code, stdout, json } = await runBun(
        env,
        '--preload',
        preload,
        join(ROOT, 'src/main.ts'),
        ...words,
      );
      expect([words, code]).toEqual([words, expected]);
      if (words[1] === 'list' && code === 0) expect(json).toHaveLength(accounts.length);
      if (words[0] === '--help') expect(stdout).toEndWith('\n');
    }
  } finally {
    await database.drop();
  }
});
