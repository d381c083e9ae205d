import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { createLogTo, type RequestLine } from '../../src/observability/log.ts';

const LINE: RequestLine = {
  requestId: 'a-1',
  method: 'GET',
  route: '/api/v1/companies/{nif}',
  status: 200,
  durationMs: 1.239,
  account: 'acc_1',
  keyId: 'key_1',
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
    method: 'GET',
    route: '/api/v1/companies/{nif}',
    status: 200,
    durationMs: 1.24,
    account: 'acc_1',
    key_id: 'key_1',
    msg: 'request',
  });
});

test('a request without a key has no account in its line, and a failure is JSON whatever it says', () => {
  const error = new TypeError('"quoted" \\ and\u0007');
  const [line] = linesOf({ ...LINE, account: undefined, keyId: '', error });
  expect(line).not.toHaveProperty('account');
  expect(line).not.toHaveProperty('key_id');
  expect(line).toMatchObject({ level: 40, error: 'TypeError: "quoted" \\ and\u0007' });
});

test('lines of requests and others are written in their order, the last ones at the close', async () => {
  const program = `
    const { createLog } = await import(${JSON.stringify(join(import.meta.dir, '../../src/observability/log.ts'))});
    const { log, close } = createLog();
    const request = ${JSON.stringify(LINE)};
    log.request({ ...request, requestId: 'first' });
    log.info('second');
    log.request({ ...request, requestId: 'third' });
    await close();`;
  const child = Bun.spawn([process.execPath, '-e', program], { stdout: 'pipe' });
  const lines = (await new Response(child.stdout).text()).trim().split('\n');
  expect(await child.exited).toBe(0);
  const written = lines.map((line) => JSON.parse(line) as { requestId?: string; msg: string });
  expect(written.map(({ requestId, msg }) => requestId ?? msg)).toEqual(['first', 'second', 'third']);
});
