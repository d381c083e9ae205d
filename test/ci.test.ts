/** The outcome that `.ci/run` makes of its steps; `npx`, docker and promtool are stand-ins. */
import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './support/command.ts';
import { createFolder } from './support/folder.ts';

const folder = createFolder('ci-test');
const write = (name: string, script: string) =>
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
write('docker', 'exit 1');
write('promtool', 'exit 0');

/** @param tests what a shell does in place of `bun run test`. @returns exit code and last line */
async function run(tests: string, env: Record<string, string> = {}) {
  write('npx', `case "$*" in *'run test') ${tests} ;; esac`);
  const ci = Bun.spawn([join(ROOT, '.ci/run')], {
    env: { PATH: `${folder}:${process.env.PATH}`, ...env },
    stdout: 'pipe',
    stderr: 'ignore',
  });
  const [stdout, code] = await Promise.all([ci.stdout.text(), ci.exited]);
  return { stdout, outcome: [code, stdout.trimEnd().split('\n').at(-1)] };
}

const summary = (...lines: string[]) => `printf '%s\\n' ${lines.map((line) => `' ${line}'`).join(' ')}`;

test('what failed is shown again at the end, with its reason, and the last line counts tests and steps', async () => {
  const failure = `printf '%s\\n' 'error: expected 1' '(fail) a sum [2ms]' '' ' 7 pass' ' 1 fail'`;
  const { stdout, outcome } = await run(`${failure}; exit 1 ;; *typecheck) echo 'a.ts(1,1): wrong'; exit 1`);
  expect(stdout.split('--- faults').at(-1)).toContain('error: expected 1\n(fail) a sum [2ms]\n');
  expect(stdout).toEndWith('type check failed\na.ts(1,1): wrong\n11 passed, 2 failed\n');
  expect(outcome[0]).toBe(1);
});

test('a test that is skipped or only noted down has failed, though bun ends with 0, and so has a run without tests', async () => {
  expect((await run(summary('7 pass', '0 fail'))).outcome).toEqual([0, '12 passed, 0 failed']);
  expect((await run(summary('7 pass', '2 skip', '1 todo'))).outcome).toEqual([1, '12 passed, 3 failed']);
  expect((await run('true')).outcome).toEqual([1, '5 passed, 1 failed']);
});

test('tests that hang are ended and have failed, and what they leave behind is not waited for', async () => {
  const { outcome } = await run(`setsid sleep 40 & ${summary('7 pass')}; sleep 60`, { CI_TEST_LIMIT: '1s' });
  expect(outcome).toEqual([1, '12 passed, 1 failed']);
});

test('a step that is skipped counts as nothing by default, and has failed before a release', async () => {
  write('npx', `case "$*" in *'run test') ${summary('7 pass')} ;; *backup.ts) exit 77 ;; esac`);
  const skips = `${summary('7 pass')} ;; *upgrade.ts) exit 77`;
  expect((await run(skips)).outcome).toEqual([0, '11 passed, 0 failed']);
  const { stdout, outcome } = await run(skips, { RELEASE: 'yes' });
  expect(stdout).toContain('skipped .ci/compose: docker compose 2 is not installed\n');
  expect(outcome).toEqual([1, '14 passed, 2 failed']);
});
