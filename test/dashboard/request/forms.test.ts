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

const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n';

const requests = ({ logLines }: TestService) => logLines.filter((line) => line.msg === 'request');
const faults = ({ logLines }: TestService) => logLines.filter((line) => Number(line.level) >= 50);

const chunks = `1f40\r\n${'x'.repeat(8000)}\r\n`.repeat(10);

test.each([
  ['a sender that leaves in the middle of a form', 'Content-Length: 9\r\n\r\na', null, '', 499],
  ['a body whose chunks are broken', `${CHUNKED}1\r\na\r\n`, 'zz\r\nabc\r\n', 'HTTP/1.1 400', 499],
  ['a form over 64 KiB in chunks', `${CHUNKED}${chunks}0\r\n\r\n`, '', 'HTTP/1.1 413', 413],
] as const)('%s is logged as that, and is no fault', async (_, text, rest, answer, status) => {
  const before = requests(service).length;
  const { socket, closed } = await sendText(service.baseUrl, `${HEAD}\r\n${text}`);
  if (rest === null) socket.end();
  else {
    socket.write(rest);
    expect(await closed).toStartWith(answer);
  }
  await until('the log line', async () => requests(service).length > before);
  expect(requests(service)[before]!.status).toBe(status);
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
