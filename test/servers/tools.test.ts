/** The promises of the tests' own tools that other tests would not notice to be broken: what they leave behind, and what they say. */
import { expect, test } from 'bun:test';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { connectPostgres } from '../../src/platform/postgres/connect.ts';
import { ROOT } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';
import { createFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';
import { VARIABLES } from './servers.ts';

const GIVEN = Object.fromEntries(Object.values(VARIABLES).map((name) => [name, 'given']));
const UP = join(import.meta.dir, 'up.ts');
const START_TIMEOUT_MS = 180_000;

const isListening = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.on('error', () => resolve(false)).on('connect', () => socket.destroy());
  });

test.each([
  ['SIGKILL', 'redis'],
  ['SIGINT', 'database'],
] as const)(
  'servers leave no process and no file behind when the process that started them gets %s',
  async (signal, server) => {
    const temporary = createFolder('servers');
    const starter = Bun.spawn([process.execPath, UP], {
      // The other servers are given, so that none of them starts.
      env: { ...process.env, ...GIVEN, TMPDIR: temporary, [`TEST_${server.toUpperCase()}_URL`]: '' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let said = '';
    let port = 0;
    for await (const chunk of starter.stdout.pipeThrough(new TextDecoderStream())) {
      said += chunk;
      const url = new RegExp(`^export TEST_${server.toUpperCase()}_URL=(.*)\n`, 'm').exec(said)?.[1];
      if (url === undefined) continue;
      port = Number(new URL(url).port);
      break;
    }
    expect(await isListening(port)).toBe(true);
    starter.kill(signal);
    await starter.exited;
    await until('the end', async () => !(await isListening(port)) && readdirSync(temporary).length === 0);
  },
  START_TIMEOUT_MS,
);

test('a run without servers says what is missing in one line, and ends with exit code 1', async () => {
  const path = createFolder('bin');
  // As root the servers' user is looked up; nothing else is on this PATH.
  const id = Bun.which('id');
  if (id) symlinkSync(id, join(path, 'id'));
  writeFileSync(join(path, 'apt-get'), `#!/bin/sh\n: > ${path}/apt-get-ran\n`, { mode: 0o755 });
  mkdirSync(join(path, 'cache'));
  const tests = join(ROOT, 'test/metering/rate-limit/redis.test.ts');
  const run = Bun.spawn([process.execPath, join(ROOT, 'test/run.ts'), tests], {
    env: { PATH: path, HOME: path, XDG_CACHE_HOME: join(path, 'cache'), TEST_INSTALL: 'no' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  expect(await run.stderr.text()).toMatch(
    /^tests need a JDK 21\+ with Maven and redis-server, .*no redis-server found.*$/m,
  );
  expect(await run.exited).toBe(1);
  expect(readdirSync(path)).not.toContain('apt-get-ran');
});

test('a test database that is dropped names the connections that were left open', async () => {
  const database = await createTestDatabase('leak');
  const forgotten = connectPostgres(database.url, { max: 1, applicationName: 'forgetful' });
  await forgotten`SELECT 1`;
  await expect(database.drop()).rejects.toThrow('left open: forgetful (idle)');
  await forgotten.end({ timeout: 1 });
});
