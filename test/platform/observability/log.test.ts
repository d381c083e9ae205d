import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { createLogTo, type RequestLine } from '../../../src/platform/observability/log.ts';

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

function linesOf(...requests: RequestLine[]): Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = [];
  const log = createLogTo({ write: (line) => void lines.push(JSON.parse(line)) });
  for (const line of requests) log.request(line);
  return lines;
}

test('a request leaves one line of JSON', () => {
  const [line] = linesOf(LINE);
  expect(line).toEqual({
    level: 30,
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    requestId: 'a-1',
    call: '019f4e52-6a0c-4c0f-9d3e-2f7b1c9a8d54',
    method: 'GET',
    route: '/api/v1/companies/{nif}',
    status: 200,
    durationMs: 1.24,
    account: 'acc_1',
    key_id: 'key_1',
    credits: 3,
    msg: 'request',
  });
});

test('a request without a key has no account in its line, and a failure is JSON whatever it says', () => {
  const error = new TypeError('"quoted" \\ and\u0007');
  const [line] = linesOf({ ...LINE, account: undefined, keyId: '', credits: undefined, error });
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
