import { afterAll, expect, test } from 'bun:test';
import { constants, getPriority } from 'node:os';
import { bareEnvironment, MAIN } from '../../support/command.ts';
import { createTestDatabase } from '../../support/database.ts';

const database = await createTestDatabase('priority');
afterAll(() => database.drop());

test('a command gives way to a service on the same machine', async () => {
  const child = Bun.spawn([process.execPath, MAIN, 'account', 'list'], {
    env: { ...bareEnvironment(), DATABASE_URL: database.url },
    stdout: 'ignore',
    stderr: 'ignore',
  });
  const seen = new Set<number>();
  while (child.exitCode === null) {
    try {
      seen.add(getPriority(child.pid));
    } catch {} // it has ended
    await Bun.sleep(1);
  }
  expect(child.exitCode).toBe(0);
  expect(seen).toEqual(new Set([getPriority(), constants.priority.PRIORITY_BELOW_NORMAL]));
});
