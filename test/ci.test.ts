/** The outcome that `.ci/run` makes of a run of the tests; `npx`, docker and promtool are stand-ins. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './support/command.ts';
import { until } from './support/until.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ci-test-'));
  await write('docker', 'exit 1');
  await write('promtool', 'exit 0');
});
afterEach(() => rm(folder, { recursive: true }));

async function write(name: string, script: string): Promise<void> {
  await Bun.write(join(folder, name), `#!/bin/sh\n${script}\n`);
  await chmod(join(folder, name), 0o755);
}

const start = (env: Record<string, string> = {}) =>
  Bun.spawn([join(ROOT, '.ci/run')], {
    env: { PATH: `${folder}:${process.env.PATH}`, ...env },
    stdout: 'pipe',
    stderr: 'pipe',
  });

/** @param tests what a shell does in place of `bun run test`. @returns exit code and last line */
async function run(tests: string, env: Record<string, string> = {}) {
  await write('npx', `case "$*" in *'run test') ${tests} ;; esac`);
  const process = start(env);
  const [stdout, code] = await Promise.all([process.stdout.text(), process.exited]);
  return { code, stdout, last: stdout.trimEnd().split('\n').at(-1) };
}

const summary = (...lines: string[]) => `printf '%s\\n' ${lines.map((line) => `' ${line}'`).join(' ')}`;

test('the last line counts the tests and each further step', async () => {
  const { code, last, stdout } = await run(summary('7 pass', '0 fail'));
  expect([code, last]).toEqual([0, '16 passed, 0 failed']);
  expect(stdout).toContain('\n 7 pass\n');
});

test('a test that fails is counted', async () => {
  const { code, last } = await run(`${summary('7 pass', '2 fail')}; exit 1`);
  expect([code, last]).toEqual([1, '16 passed, 2 failed']);
});

test('what failed is shown again at the end, with its reason', async () => {
  const failure = `printf '%s\\n' 'error: expected 1' '(fail) a sum [2ms]' '' ' 7 pass' ' 1 fail'`;
  const { stdout } = await run(`${failure}; exit 1 ;; *typecheck) echo 'a.ts(1,1): wrong'; exit 1`);
  expect(stdout.split('--- compose').at(-1)).toContain('error: expected 1\n(fail) a sum [2ms]\n');
  expect(stdout).toEndWith('type check failed\na.ts(1,1): wrong\n15 passed, 2 failed\n');
});

test('a test that is skipped or only noted down has failed, though bun ends with 0', async () => {
  const { code, last } = await run(summary('7 pass', '2 skip', '1 todo', '0 fail'));
  expect([code, last]).toEqual([1, '16 passed, 3 failed']);
});

test('no tests at all is a failure', async () => {
  const { code, last } = await run('true');
  expect([code, last]).toEqual([1, '9 passed, 1 failed']);
});

test('tests that hang are ended, have failed, and the rest goes on', async () => {
  const { code, last } = await run(`${summary('7 pass')}; sleep 60`, { CI_TEST_LIMIT: '1s' });
  expect([code, last]).toEqual([1, '16 passed, 1 failed']);
});

test('what the tests leave behind, their output in its hands, is not waited for', async () => {
  // Longer than a test may take.
  const { last } = await run(`setsid sleep 40 & ${summary('7 pass', '0 fail')}`);
  expect(last).toBe('16 passed, 0 failed');
});

/** @param further what the engine does beside answering, as branches of a shell's `case` */
const engine = (further: string) => write('docker', `case "$*" in ${further} esac; exit 0`);

test.each([
  ['compose is not installed', "'compose version') exit 1 ;;", 'docker compose 2 is not installed'],
  ['no engine answers', 'version) exit 1 ;;', 'no Docker engine answers (docker version)'],
  [
    'an image can not be pulled',
    "*--images) echo redis:1 ;; 'image inspect'*|pull*) exit 1 ;;",
    'the image redis:1 is not here and could not be pulled',
  ],
])('the step compose says why it is skipped, and counts as nothing: %s', async (_, docker, reason) => {
  await engine(docker);
  const { code, last, stdout } = await run(summary('7 pass', '0 fail'));
  expect([code, last]).toEqual([0, '16 passed, 0 failed']);
  expect(stdout).toContain(`\nskipped .ci/compose: ${reason}\n`);
});

test.each([
  ['haproxy', 'haproxy is not installed'],
  ['upgrade', 'haproxy or curl is not installed'],
])('the step %s says why it is skipped', async (step, reason) => {
  const process = Bun.spawn([globalThis.process.execPath, join(ROOT, `.ci/${step}.ts`)], {
    env: { PATH: folder },
    stdout: 'pipe',
  });
  expect(await process.stdout.text()).toBe(`skipped .ci/${step}.ts: ${reason}\n`);
  expect(await process.exited).toBe(77);
});

test('the step prometheus says why it is skipped', async () => {
  const process = Bun.spawn(['/bin/bash', join(ROOT, '.ci/prometheus')], {
    env: { PATH: '/usr/local/empty' },
    stdout: 'pipe',
  });
  expect(await process.stdout.text()).toBe('skipped .ci/prometheus: promtool is not installed\n');
  expect(await process.exited).toBe(77);
});

test('a wrong compose file fails also without an engine', async () => {
  await engine('*--quiet|version) exit 1 ;;');
  const { code, last } = await run(summary('7 pass', '0 fail'));
  expect([code, last]).toEqual([1, '16 passed, 1 failed']);
});

test('a compose file that does not start has failed', async () => {
  await engine('*--images) echo redis:1 ;; *" up "*) exit 1 ;;');
  const { code, last, stdout } = await run(summary('7 pass', '0 fail'));
  expect([code, last]).toEqual([1, '16 passed, 1 failed']);
  expect(stdout).toContain('docker-compose.yml did not start');
});

test('a signal ends it, and what it has started', async () => {
  await write('npx', `echo $$ > ${folder}/pid; exec sleep 60`);
  const process = start();
  let pid = '';
  await until('the tests', async () => {
    pid = await Bun.file(join(folder, 'pid'))
      .text()
      .catch(() => '');
    return pid !== '';
  });
  process.kill('SIGTERM');
  expect(await process.exited).toBe(130);
  // A zombie has ended, too: init has not collected it yet.
  await until('the end of the tests', async () => {
    const stat = await Bun.file(`/proc/${pid.trim()}/stat`)
      .text()
      .catch(() => '');
    return stat === '' || stat.includes(') Z ');
  });
});
