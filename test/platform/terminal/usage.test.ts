/** How commands start, what they say of themselves, and how their processes end. */
import { afterAll, describe, expect, test } from 'bun:test';
import { constants, getPriority } from 'node:os';
import { join } from 'node:path';
import { createAccount } from '../../../src/metering/accounts/account-store.ts';
import { VERSION } from '../../../src/platform/version.ts';
import { bareEnvironment, createCommandLine, MAIN, ROOT, runBun, runHere } from '../../support/command.ts';
import { createTestDatabase } from '../../support/database.ts';
import { createFolder } from '../../support/folder.ts';
import { until } from '../../support/until.ts';
import { commandNames } from './every-command.ts';

const database = await createTestDatabase('cli_usage');
afterAll(() => database.drop());

/** The address of no Postgres: a command that ends before it connects works with it. */
const NOWHERE = { DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none' };

test('a command starts with few packages: the server and Elasticsearch load theirs when they are used', async () => {
  const script = `await import(${JSON.stringify(MAIN)}); console.log(JSON.stringify(Object.keys(require.cache)))`;
  const { json } = await runBun(NOWHERE, '-e', script);
  const packages = (json as string[]).flatMap(
    (path) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [],
  );
  expect([...new Set(packages)].toSorted()).toEqual(['@sinclair/typebox', 'commander', 'postgres']);
});

describe('--help', () => {
  test('of every command has an example that begins with it, and exit code 0', async () => {
    for (const command of ['serve', ...(await commandNames())]) {
      const { code, stdout } = await runHere(NOWHERE, ...command.split(' '), '--help');
      const example = new RegExp(`Examples?:\\n[^]*bun directory ${command}`);
      expect([command, code, stdout]).toEqual([command, 0, expect.stringMatching(example)]);
    }
  });

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
});

test('no command, or a group alone, shows what there is on stderr and ends with exit code 2', async () => {
  for (const words of [[], ['account'], ['index']]) {
    const { code, stdout, stderr } = await runHere(NOWHERE, ...words);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('Usage: directory');
  }
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

test('a command ends when its work is done, whatever is still open, and its whole answer arrives', async () => {
  const folder = createFolder('held-open');
  const preload = join(folder, 'preload.ts');
  await Bun.write(preload, 'setInterval(() => {}, 60_000);');
  const { sql, url } = database;
  const { id } = await createAccount(sql, { name: 'Long', plan: 'free' }, 'test');
  // More than a pipe holds.
  await sql`
    INSERT INTO account_events (account_id, kind, actor, note)
    SELECT ${id}, 'plan', 'test', repeat('\u5546', 200) FROM generate_series(1, 400)`;
  for (const [words, env, expected] of [
    [['account', 'history', id, '--json'], { DATABASE_URL: url }, 0],
    [['account', 'show', 'acc_none'], { DATABASE_URL: url }, 1],
    [['account', '--unknown'], {}, 2],
    [['--help'], {}, 0],
  ] as const) {
    const { code, stdout, json } = await runBun(env, '--preload', preload, MAIN, ...words);
    expect([words, code]).toEqual([words, expected]);
    if (words[1] === 'history') expect(json).toHaveLength(401);
    if (words[0] === '--help') expect(stdout).toEndWith('\n');
  }
});

test.each(['stdout', 'stderr'])(
  'a process ends even if %s never says that it was written',
  async (stream) => {
    const script = `
    import { print, runToExit } from '${join(ROOT, 'src/platform/terminal/command.ts')}';
    process.${stream}.end = () => process.${stream};
    await runToExit(async () => {
      await print('the answer\\n');
      process.exitCode = 3;
    });`;
    const { code, stdout } = await runBun({}, '-e', script);
    expect([code, stdout]).toEqual([3, 'the answer\n']);
  },
);

test('a slow reader gets all of a long answer', async () => {
  const script = `
    import { print, runToExit } from '${join(ROOT, 'src/platform/terminal/command.ts')}';
    await runToExit(() => print('x'.repeat(3_000_000)));`;
  // It begins to read later than a process waits for its end.
  const child = Bun.spawn(['bash', '-c', '"$0" -e "$1" | (sleep 3; wc -c)', process.execPath, script], {
    env: bareEnvironment(),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  expect((await child.stdout.text()).trim()).toBe('3000000');
});

/** As `nohup` does. */
const IGNORED = "trap '' HUP; ";

test.each([
  ['SIGHUP', '', 7],
  ['SIGTERM', '', 7],
  ['SIGTERM', IGNORED, 7],
  // Not handled, so the system goes on to ignore it.
  ['SIGHUP', IGNORED, null],
] as const)('%s interrupts, after "%s": %p', async (signal, before, code) => {
  const script = `
    import { watchInterrupts } from '${join(ROOT, 'src/platform/terminal/interrupt.ts')}';
    watchInterrupts().signal.onabort = () => process.exit(7);
    setInterval(() => {}, 1_000);
    console.log(process.listenerCount('${signal}'));`;
  const child = Bun.spawn(['sh', '-c', `${before}exec "$0" -e "$1"`, process.execPath, script], {
    env: bareEnvironment(),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const { value } = await child.stdout.getReader().read();
  expect(new TextDecoder().decode(value)).toBe(code === null ? '0\n' : '1\n');
  child.kill(code === null ? 'SIGKILL' : signal);
  await child.exited;
  expect(child.exitCode).toBe(code);
});

/** Of this database: the view has those of all tests on the server. */
const locks = () => database.sql`
  SELECT FROM pg_locks WHERE locktype = 'advisory'
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/** Starts a command behind other words, such as `nice`. It waits for its input for ever. */
async function startBehind(...words: string[]) {
  const child = Bun.spawn([...words, process.execPath, MAIN, 'companies', 'import', '-'], {
    env: { ...bareEnvironment(), DATABASE_URL: database.url },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const end = async () => {
    child.kill('SIGKILL');
    await child.exited;
    await until('the end of its session', async () => (await locks()).length === 0);
  };
  return { priority: () => getPriority(child.pid), [Symbol.asyncDispose]: end };
}

const { PRIORITY_BELOW_NORMAL } = constants.priority;
test('a command gives way to a service on the same machine', async () => {
  await using command = await startBehind();
  await until('its priority', () => command.priority() === Math.max(getPriority(), PRIORITY_BELOW_NORMAL));
});

/** Only root may raise a priority, and not without its right to. */
const AS_ANOTHER_USER = ['setpriv', '--bounding-set=-sys_nice'];
const isPossible = Bun.which('setpriv') !== null && Bun.spawnSync([...AS_ANOTHER_USER, 'true']).success;

test.each([
  { who: 'the user of the test', words: [] },
  ...(isPossible ? [{ who: 'one who may not raise it', words: AS_ANOTHER_USER }] : []),
])('a command that began with a lower priority keeps it: $who', async ({ words }) => {
  await using command = await startBehind('nice', '-n', '15', ...words);
  await until('its import', async () => (await locks()).length > 0);
  expect(command.priority()).toBe(Math.min(getPriority() + 15, constants.priority.PRIORITY_LOW));
});
