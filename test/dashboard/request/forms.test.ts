import { afterAll, expect, test } from 'bun:test';
import type { Socket } from 'node:net';
import { sendText } from '../../support/client.ts';
import type { TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { startDashboardService } from '../service.ts';

const service = await startDashboardService();
afterAll(() => service.stop());

const HEAD = [
  'POST /dashboard/sign-in HTTP/1.1',
  'Host: localhost',
  'Content-Type: application/x-www-form-urlencoded',
].join('\r\n');

const requests = ({ logLines }: TestService) => logLines.filter((line) => line.msg === 'request');
const faults = ({ logLines }: TestService) => logLines.filter((line) => Number(line.level) >= 50);

/** The status that is logged of the next request. */
async function nextStatus(send: () => Promise<unknown>): Promise<unknown> {
  const before = requests(service).length;
  await send();
  await until('the log line', async () => requests(service).length > before);
  return requests(service)[before]!.status;
}

test('a sender that leaves in the middle of a form is logged as gone, not as a fault', async () => {
  const status = await nextStatus(async () => {
    const { socket } = await sendText(service.baseUrl, `${HEAD}\r\nContent-Length: 9\r\n\r\na`);
    socket.end();
  });
  expect(status).toBe(499);
  expect(faults(service)).toEqual([]);
});

test('a body whose chunks are broken is answered 400, and is no fault', async () => {
  let answer = '';
  const status = await nextStatus(async () => {
    const { socket, closed } = await sendText(
      service.baseUrl,
      `${HEAD}\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n`,
    );
    socket.write('zz\r\nabc\r\n');
    answer = await closed;
  });
  expect(answer).toStartWith('HTTP/1.1 400');
  expect(status).toBe(499);
  expect(faults(service)).toEqual([]);
});

test('a form over 64 KiB in chunks is answered 413, and is no fault', async () => {
  let answer = '';
  const status = await nextStatus(async () => {
    const chunk = `1f40\r\n${'x'.repeat(8000)}\r\n`;
    const { closed } = await sendText(
      service.baseUrl,
      `${HEAD}\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(10)}0\r\n\r\n`,
    );
    answer = await closed;
  });
  expect(answer).toStartWith('HTTP/1.1 413');
  expect(status).toBe(413);
  expect(faults(service)).toEqual([]);
});

test('a body that no page reads is dropped, and its connection answers the next request', async () => {
  const body = 'GET /dashboard/stolen HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.padEnd(190_000, 'x');
  const post = (path: string, headers = '') =>
    `POST /dashboard${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}Content-Length: ${body.length}\r\n\r\n`;
  const next = 'GET /dashboard/assets/x HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n';
  for (const [head, status] of [
    [post('/nothing'), 404],
    [post('/credits'), 405],
    [post('/keys/x/revoke'), 403],
  ] as const) {
    const { socket, closed } = await sendText(service.baseUrl, head + body.slice(0, 1000));
    socket.write(body.slice(1000) + next);
    const statuses = [...(await closed).matchAll(/HTTP\/1.1 (\d+)/g)].map(([, text]) => Number(text));
    expect(statuses).toEqual([status, 404]);
  }
});

test('a form that trickles in is answered 408 after ten seconds, however many bytes come', async () => {
  const { socket, closed } = await sendText(service.baseUrl, `${HEAD}\r\nContent-Length: 9000\r\n\r\na`);
  const trickle = keepSending(socket);
  try {
    expect(await closed).toStartWith('HTTP/1.1 408');
  } finally {
    trickle.stop();
  }
});

test('a form that trickles in is given up at a stop, and the request counts as refused', async () => {
  const stopped = await startDashboardService();
  const { socket, closed } = await sendText(stopped.baseUrl, `${HEAD}\r\nContent-Length: 9000\r\n\r\na`);
  const trickle = keepSending(socket);
  try {
    await fetch(`${stopped.baseUrl}/dashboard/sign-in`); // the dashboard is open, and reads the form
    await stopped.stop();
    expect(await closed).toStartWith('HTTP/1.1 503');
    expect(stopped.logLines.some((line) => line.msg === 'requests were cut off')).toBe(false);
    expect(requests(stopped).some((line) => line.status === 503)).toBe(true);
  } finally {
    trickle.stop();
  }
});

function keepSending(socket: Socket) {
  const timer = setInterval(() => socket.write('a'), 100);
  return { stop: () => clearInterval(timer) };
}
