/** What strangers send to the endpoints of clients: little of it is parsed, and little of it asks Postgres. */
import { afterAll, expect, test } from 'bun:test';
import { countParses } from '../../support/parses.ts';
import { startDashboardService } from '../service.ts';
import { createMember } from '../visitor.ts';
import { exchange, waitingCode } from './agent.ts';

const service = await startDashboardService({ OAUTH_REGISTRATION: 'on' });
afterAll(() => service.stop());
const { baseUrl } = service;

let addresses = 0;
const newAddress = () => `198.51.100.${++addresses}`;

const post = (path: string, body: string | Uint8Array<ArrayBuffer>, address: string, headers = {}) =>
  fetch(baseUrl + path, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      'X-Forwarded-For': address,
      ...headers,
    },
    body,
  });

test.each([
  ['4,000 fields', 'a&'.repeat(4000)],
  ['4,000 fields without a name', '&'.repeat(8000)],
  ['17 fields', `${'a=1&'.repeat(16)}token=${'x'.repeat(4000)}`],
  ['bytes that are no text', new Uint8Array(8000).fill(0xff)],
  ['characters that are not escaped', `token=${'é'.repeat(4000)}`],
])('a form with %s is refused before it is parsed', async (_name, body) => {
  for (const path of ['/oauth/token', '/oauth/revoke']) {
    const parses = countParses();
    try {
      const { status } = await post(path, body, newAddress());
      expect([path, status, parses.take()]).toEqual([path, 400, ['body by arrayBuffer']]);
    } finally {
      parses.stop();
    }
  }
});

test('a form with fields that are not known gets its token', async () => {
  const { agent, code } = await waitingCode(service, await createMember(service));
  const further = Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`further${at}`, 'é']));
  expect((await exchange(service, agent, code, further)).status).toBe(200);
});
