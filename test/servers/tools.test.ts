/** The promises of `.ci/run` and the tests' own tools that other tests would not notice to be broken: what they leave behind, and say. */
import { expect, test } from 'bun:test';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
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
);

test('a run without servers says what is missing in one line, and ends with exit code 1', async () => {
  const path = createFolder('bin');
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

// `.ci/run`: the outcome that it makes of its steps; `npx`, docker and promtool are stand-ins.

const stands = createFolder('ci-test');
const write = (name: string, script: string) =>
  writeFileSync(join(stands, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
write('docker', 'exit 1');
write('promtool', 'exit 0');

/** @param tests what a shell does in place of `bun run test`. @returns exit code and last line */
async function runCi(tests: string, env: Record<string, string> = {}) {
  write('npx', `case "$*" in *'run test') ${tests} ;; esac`);
  const ci = Bun.spawn([join(ROOT, '.ci/run')], {
    env: { PATH: `${stands}:${process.env.PATH}`, ...env },
    stdout: 'pipe',
    stderr: 'ignore',
  });
  const [stdout, code] = await Promise.all([ci.stdout.text(), ci.exited]);
  return { stdout, outcome: [code, stdout.trimEnd().split('\n').at(-1)] };
}

const summary = (...lines: string[]) => `printf '%s\\n' ${lines.map((line) => `' ${line}'`).join(' ')}`;

test('what failed is shown again at the end, with its reason, and the last line counts tests and steps', async () => {
  const failure = `printf '%s\\n' 'error: expected 1' '(fail) a sum [2ms]' '' ' 7 pass' ' 1 fail'`;
  const { stdout, outcome } = await runCi(
    `${failure}; exit 1 ;; *typecheck) echo 'a.ts(1,1): wrong'; exit 1`,
  );
  expect(stdout.split('--- faults').at(-1)).toContain('error: expected 1\n(fail) a sum [2ms]\n');
  expect(stdout).toEndWith('type check failed\na.ts(1,1): wrong\n11 passed, 2 failed\n');
  expect(outcome[0]).toBe(1);
});

test('a test that is skipped or only noted down has failed, though bun ends with 0, and so has a run without tests', async () => {
  expect((await runCi(summary('7 pass', '0 fail'))).outcome).toEqual([0, '12 passed, 0 failed']);
  expect((await runCi(summary('7 pass', '2 skip', '1 todo'))).outcome).toEqual([1, '12 passed, 3 failed']);
  expect((await runCi('true')).outcome).toEqual([1, '5 passed, 1 failed']);
});

test('tests that hang are ended and have failed, and what they leave behind is not waited for', async () => {
  const { outcome } = await runCi(`setsid sleep 40 & ${summary('7 pass')}; sleep 60`, {
    CI_TEST_LIMIT: '1s',
  });
  expect(outcome).toEqual([1, '12 passed, 1 failed']);
});

test('a step that is skipped counts as nothing by default, and has failed before a release', async () => {
  write('npx', `case "$*" in *'run test') ${summary('7 pass')} ;; *backup.ts) exit 77 ;; esac`);
  const skips = `${summary('7 pass')} ;; *upgrade.ts) exit 77`;
  expect((await runCi(skips)).outcome).toEqual([0, '11 passed, 0 failed']);
  const { stdout, outcome } = await runCi(skips, { RELEASE: 'yes' });
  expect(stdout).toContain('skipped .ci/compose: docker compose 2 is not installed\n');
  expect(outcome).toEqual([1, '14 passed, 2 failed']);
});
