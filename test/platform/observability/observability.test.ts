import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { createLogTo, type RequestLine } from '../../../src/platform/observability/log.ts';
import { createMetrics } from '../../../src/platform/observability/metrics.ts';
import { createBatcher } from '../../../src/platform/runtime/batcher.ts';

const LINE: RequestLine = {
  requestId: 'a-1',
  callId: '019f4e52-6a0c-4c0f-9d3e-2f7b1c9a8d54',
  method: 'GET',
  route: '/api/v1/companies/{nif}',
  status: 200,
  durationMs: 1.239,
  account: 'acc_1',
  keyId: 'key_1',
  credits: 3,
  isTest: false,
  error: undefined,
};

test('a request without a key has no account in its line, and a failure is JSON whatever it says', () => {
  const error = new TypeError('"quoted" \\ and\u0007');
  let line: unknown;
  const log = createLogTo({ write: (text) => (line = JSON.parse(text)) });
  log.request({ ...LINE, account: undefined, keyId: '', credits: undefined, error });
  expect(line).not.toHaveProperty('account');
  expect(line).not.toHaveProperty('key_id');
  expect(line).not.toHaveProperty('credits');
  expect(line).toMatchObject({ level: 40, error: 'TypeError: "quoted" \\ and\u0007' });
});

/** Runs a program that has a log on stdout, and `request`, a line of it. */
const spawnLogger = (program: string) =>
  Bun.spawn(
    [
      process.execPath,
      '-e',
      `const { createLog } = await import(${JSON.stringify(join(import.meta.dir, '../../../src/platform/observability/log.ts'))});
      const { log, close } = createLog();
      const request = ${JSON.stringify(LINE)};
      ${program}
      await close();`,
    ],
    { stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' },
  );

test('lines of requests and others are written in their order, the last ones at the close', async () => {
  const child = spawnLogger(`
    log.request({ ...request, requestId: 'first' });
    log.info('second');
    log.request({ ...request, requestId: 'third' });`);
  const lines = (await new Response(child.stdout).text()).trim().split('\n');
  expect(await child.exited).toBe(0);
  const written = lines.map((line) => JSON.parse(line) as { requestId?: string; msg: string });
  expect(written.map(({ requestId, msg }) => requestId ?? msg)).toEqual(['first', 'second', 'third']);
});

test('lines whose reader has gone are lost: the program goes on, and says so once on stderr', async () => {
  const child = spawnLogger(`
    log.info('first');
    await Bun.stdin.text();
    for (let round = 0; round < 3; round += 1) {
      log.info('lost');
      log.request(request);
      await Bun.sleep(150);
    }
    log.bug(new TypeError('lost'), 'lost');
    console.error('done');`);
  const reader = child.stdout.getReader();
  await reader.read();
  await reader.cancel();
  await child.stdin.end();
  expect(await child.exited).toBe(0);
  const errors = (await new Response(child.stderr).text()).trim().split('\n');
  expect(errors).toEqual([expect.stringMatching(/^the log can't be written.*EPIPE/), 'done']);
});

test('a count that is kept elsewhere is shown as it is, however often it is asked for', async () => {
  const answers = { hit: 3, miss: 5 };
  const metrics = createMetrics();
  metrics.counterOf('answers_total', 'Answers.', 'outcome', () => answers);
  for (const hits of [3, 3, 4]) {
    answers.hit = hits;
    const text = await metrics.text();
    expect(text).toContain(`\nanswers_total{outcome="hit"} ${hits}\n`);
    expect(text).toContain('\nanswers_total{outcome="miss"} 5\n');
  }
});

test('CPU time is that of the process', async () => {
  const metrics = createMetrics();
  const shown = async () => Number(/^process_cpu_seconds_total (\S+)$/m.exec(await metrics.text())![1]) * 1e6;
  const before = process.cpuUsage();
  const value = await shown();
  const after = process.cpuUsage();
  expect(value).toBeGreaterThanOrEqual(before.user + before.system - 1);
  expect(value).toBeLessThanOrEqual(after.user + after.system + 1);
});

test('batches are counted by stage', async () => {
  const shown = async () => {
    const text = await createMetrics().text();
    const counts = text.matchAll(/^batch_(\w+)_total\{stage="usage"\} (\S+)$/gm);
    return Object.fromEntries([...counts].map(([, name, value]) => [name!, Number(value)]));
  };
  const echo = createBatcher(async (items: number[]) => items, {
    name: 'the echo',
    stage: 'usage',
  });
  const before = await shown();
  expect(await Promise.all([1, 2, 3].map(echo))).toEqual([1, 2, 3]);
  await echo(4);
  const after = await shown();
  expect([after.runs! - before.runs!, after.items! - before.items!]).toEqual([2, 4]);
  expect(after.run_seconds!).toBeGreaterThan(before.run_seconds!);
});
