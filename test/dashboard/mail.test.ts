import { afterEach, expect, test } from 'bun:test';
import { createMailer } from '../../src/dashboard/mail.ts';
import type { Log } from '../../src/observability/log.ts';
import { type MailServer, startMailServer } from './smtp.ts';

const servers: MailServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

/** Sends one mail to a server without STARTTLS, which is what an attacker on the way makes of any server. */
async function sendVia(host: string, query: string) {
  const server = await startMailServer();
  servers.push(server);
  const failures: unknown[] = [];
  const log = { error: (details: unknown) => failures.push(details) } as unknown as Log;
  const url = `${server.url.replace('127.0.0.1', host)}${query}`;
  const mailer = createMailer(url, null, 'https://api.example.pt', log);
  const to = 'maria@example.com';
  mailer.send({ kind: 'reset', to, url: 'https://api.example.pt/dashboard/reset?token=t', language: 'en' });
  await mailer.close();
  return { failures, received: server.received(to) };
}

/** Resolves to 127.0.0.1, and is no loopback name: what is neither is another machine. */
const OTHER_HOST = '2130706433';

test('no mail goes to another host without TLS', async () => {
  const { failures, received } = await sendVia(OTHER_HOST, '');
  expect(received).toBe(0);
  expect(failures).toEqual([{ kind: 'reset', code: 'ETLS' }]);
});

test('a relay on this machine, and an address that says ignoreTLS, are taken at their word', async () => {
  for (const [host, query] of [
    ['127.0.0.1', ''],
    ['localhost', ''],
    [OTHER_HOST, '?ignoreTLS=true'],
    [OTHER_HOST, '/?requireTLS=false'],
  ] as const) {
    expect([host, query, await sendVia(host, query)]).toEqual([host, query, { failures: [], received: 1 }]);
  }
});
