import { describe, expect, test } from 'bun:test';
import { bareEnvironment, createCommandLine, ROOT, runCommand } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';

/** A Postgres that isn't there: what ends before it is asked for must not notice. */
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

describe('--help', () => {
  for (const command of COMMANDS) {
    test(`of ${command}: an example that begins with it, and exit code 0`, async () => {
      const { code, stdout } = await runCommand(NOWHERE, ...command.split(' '), '--help');
      expect(code).toBe(0);
      expect(stdout).toMatch(/Examples?:\n/);
      expect(stdout).toContain(`bun directory ${command}`);
      if (command !== 'serve') expect(stdout).toContain('--json');
    });
  }

  test('of the program and of each group lists what is in it', async () => {
    const groups = new Map<string, string[]>();
    for (const [group, word] of COMMANDS.map((command) => command.split(' '))) {
      groups.set(group!, [...(groups.get(group!) ?? []), ...(word === undefined ? [] : [word])]);
    }
    const program = await runCommand(NOWHERE, '--help');
    expect(program.code).toBe(0);
    for (const [group, words] of groups) {
      expect(program.stdout).toContain(`  ${group} `);
      if (words.length === 0) continue;
      const { code, stdout } = await runCommand(NOWHERE, group, '--help');
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
  ];
  const outcomes = await Promise.all(wrong.map((words) => runCommand(NOWHERE, ...words)));
  for (const [index, { code, stdout, stderr }] of outcomes.entries()) {
    expect([wrong[index], code, stdout]).toEqual([wrong[index], 2, '']);
    expect(stderr).toMatch(/^error: /);
  }
});

test('no command, or a group alone, shows what there is on stderr and ends with exit code 2', async () => {
  for (const words of [[], ['account'], ['index']]) {
    const { code, stdout, stderr } = await runCommand(NOWHERE, ...words);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('Usage: directory');
  }
});

test('a Postgres that is not there is one line, exit code 1, nothing on stdout', async () => {
  for (const words of [['account', 'list', '--json'], ['serve']]) {
    const { code, stdout, stderr } = await runCommand({ ...NOWHERE, PORT: '0' }, ...words);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^error: Postgres can't be reached: [^\n]+\n$/);
    expect(stderr).not.toContain('nobody');
  }
});

test('options stand anywhere after the words', async () => {
  const database = await createTestDatabase('cli_usage');
  try {
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
  } finally {
    await database.drop();
  }
});

test('an answer whose reader is gone ends in one line and exit code 1', async () => {
  const database = await createTestDatabase('cli_usage');
  try {
    const script = '{ "$0" src/main.ts account list --json; echo "exit code $?" >&2; } | true';
    const pipeline = Bun.spawn(['sh', '-c', script, process.execPath], {
      cwd: ROOT,
      env: { ...bareEnvironment(), DATABASE_URL: database.url },
      stderr: 'pipe',
    });
    expect(await new Response(pipeline.stderr).text()).toMatch(/^error: EPIPE[^\n]*\nexit code 1\n$/);
  } finally {
    await database.drop();
  }
});
