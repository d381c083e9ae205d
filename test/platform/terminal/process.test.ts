/** The end of a command's process (src/platform/terminal/command.ts). */
import { afterAll, expect, test } from 'bun:test';
import { constants, getPriority } from 'node:os';
import { join } from 'node:path';
import { bareEnvironment, MAIN, ROOT } from '../../support/command.ts';
import { createTestDatabase } from '../../support/database.ts';
import { until } from '../../support/until.ts';

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
    const child = Bun.spawn([process.execPath, '-e', script], {
      env: bareEnvironment(),
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    });
    expect(await child.stdout.text()).toBe('the answer\n');
    expect(await child.exited).toBe(3);
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

const database = await createTestDatabase('priority');
afterAll(() => database.drop());

const locks = () => database.sql`SELECT FROM pg_locks WHERE locktype = 'advisory'`;

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
