import { afterAll, expect, test } from 'bun:test';
import { constants, getPriority } from 'node:os';
import { bareEnvironment, MAIN } from '../../support/command.ts';
import { createTestDatabase } from '../../support/database.ts';

const database = await createTestDatabase('priority');
afterAll(() => database.drop());

/** Runs a command behind other words, such as `nice`. @returns the priorities that its process had, and what it said */
async function runBehind(...words: string[]) {
  const child = Bun.spawn([...words, process.execPath, MAIN, 'account', 'list'], {
    env: { ...bareEnvironment(), DATABASE_URL: database.url },
    stdout: 'ignore',
    stderr: 'pipe',
  });
  const seen = new Set<number>();
  while (child.exitCode === null) {
    try {
      seen.add(getPriority(child.pid));
    } catch {} // it has ended
    await Bun.sleep(1);
  }
  expect([child.exitCode, await child.stderr.text()]).toEqual([0, '']);
  return seen;
}

test('a command gives way to a service on the same machine', async () => {
  expect(await runBehind()).toEqual(new Set([getPriority(), constants.priority.PRIORITY_BELOW_NORMAL]));
});

/** Only root may raise a priority, and not without its right to. */
const AS_ANOTHER_USER = ['setpriv', '--bounding-set=-sys_nice'];
const isPossible = Bun.which('setpriv') !== null && Bun.spawnSync([...AS_ANOTHER_USER, 'true']).success;

test.each([
  { who: 'the user of the test', words: [] },
  ...(isPossible ? [{ who: 'one who may not raise it', words: AS_ANOTHER_USER }] : []),
])('a command that began with a lower priority keeps it: $who', async ({ words }) => {
  const seen = await runBehind('nice', '-n', '15', ...words);
  seen.delete(getPriority()); // of `nice` itself
  expect(seen).toEqual(new Set([getPriority() + 15]));
});
