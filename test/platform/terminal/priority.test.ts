import { afterAll, expect, test } from 'bun:test';
import { constants, getPriority } from 'node:os';
import { bareEnvironment, MAIN } from '../../support/command.ts';
import { createTestDatabase } from '../../support/database.ts';
import { until } from '../../support/until.ts';

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
  await until('its priority', () => command.priority() === PRIORITY_BELOW_NORMAL);
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
  expect(command.priority()).toBe(getPriority() + 15);
});
