/** Reading the document of an agent's client: one request to one public address, within 3 s and 5 KiB. */
import { afterAll, expect, test } from 'bun:test';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import {
  createClientReader,
  isDocumentAddress,
  isPublicAddress,
  type Network,
  takesRedirect,
} from '../../../src/dashboard/connections/client-document.ts';
import { createAuthority } from '../../support/certificates.ts';
import { until } from '../../support/until.ts';

const HOST = 'agent.example';
const ID = `https://${HOST}/client.json`;
const DOCUMENT = { client_id: ID, client_name: 'Agent', redirect_uris: ['https://agent.example/callback'] };

const random = () => Math.random().toString(36);
const authority = createAuthority('test');
let answer: (request: Request) => Response | Promise<Response>;
let requests: { path: string; host: string | null }[] = [];
let resolved: string[] = [];
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  tls: authority.issue([HOST]),
  fetch(request) {
    const { pathname } = new URL(request.url);
    requests.push({ path: pathname, host: request.headers.get('host') });
    return answer(request);
  },
});
afterAll(() => server.stop(true));

const network = (changed: Partial<Network> = {}): Network => ({
  async resolve(host) {
    resolved.push(host);
    return [{ address: '127.0.0.1', family: 4 }];
  },
  isAllowed: () => true,
  port: server.port!,
  ca: authority.cert,
  ...changed,
});
const read = (id = ID, changed: Partial<Network> = {}, hosts = [HOST], member = `member ${random()}`) => {
  requests = [];
  resolved = [];
  return createClientReader(hosts, network(changed))(id, member);
};

test('a client is read over TLS from the one address that was checked', async () => {
  answer = () =>
    Response.json({ ...DOCUMENT, redirect_uris: [...DOCUMENT.redirect_uris, 'javascript:alert(1)'] });
  expect(await read()).toEqual({ id: ID, name: 'Agent', redirectUris: ['https://agent.example/callback'] });
  expect(requests).toEqual([{ path: '/client.json', host: expect.stringContaining(HOST) }]);
  expect(resolved).toEqual([HOST]);
});

const sends =
  (body: () => string | ReadableStream<Uint8Array>, type = 'application/json') =>
  () =>
    new Response(body(), { headers: { 'Content-Type': type } });
const json = (changed: object, type?: string) =>
  sends(() => JSON.stringify({ ...DOCUMENT, ...changed }), type);

test.each<[string, () => Response, string]>([
  ['redirects', () => Response.redirect('https://agent.example/other.json', 302), 'status 302'],
  ['is missing', () => new Response('', { status: 404 }), 'status 404'],
  ['is no JSON by its type', json({}, 'text/html'), 'no JSON'],
  ['is no JSON', sends(() => '<html>'), 'no JSON'],
  ['is larger than 5 KiB', json({ more: 'x'.repeat(6000) }), 'more than 5 KiB'],
  ['has no end', sends(endless), 'more than'],
  ['is another client’s', json({ client_id: 'https://agent.example/a' }), 'it is the document of another'],
  ['has no addresses for codes', json({ redirect_uris: undefined }), 'no redirect_uris'],
  ['wants a secret', json({ token_endpoint_auth_method: 'client_secret_post' }), 'no public client'],
  ['is a list', sends(() => JSON.stringify([DOCUMENT])), 'no object'],
])('a document that %s is refused', async (_, given, reason) => {
  answer = given;
  await expect(read()).rejects.toThrow(`${HOST}: ${reason}`);
  expect(requests).toHaveLength(1);
});

function endless(): ReadableStream<Uint8Array> {
  return new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1000).fill(32)) });
}

/** A host that answers whatever it is asked with texts without end. @returns the reason of the refusal */
async function readEndless(before: string, part: string) {
  const sockets = new Set<TLSSocket>();
  const host = createServer(authority.issue([HOST]), (socket) => {
    sockets.add(socket);
    const pour = () => {
      while (!socket.destroyed && socket.write(part));
    };
    socket.on('error', () => {}).on('drain', pour);
    socket.once('data', () => socket.write(before, pour));
  });
  await once(host.listen(0, '127.0.0.1'), 'listening');
  const { port } = host.address() as AddressInfo;
  const reason = await read(ID, { port }).catch(({ message }: Error) => message);
  await until('the end of its socket', () => [...sockets].every(({ destroyed }) => destroyed));
  host.close();
  return reason;
}

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
test.each([
  ['103 Early Hints', '', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(100), 'too many heads'],
  ['100 Continue', '', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(100), 'too many heads'],
  ['one head', 'HTTP/1.1 103 Early Hints\r\n', `X-${'a'.repeat(1000)}: b\r\n`, ''],
  ['extensions of chunks', HEAD, `1;${'a'.repeat(10_000)}\r\n \r\n`, 'more than 32 KiB'],
])('a host that sends %s without end is refused at once, and cut off', async (_, before, part, reason) => {
  expect(await readEndless(before, part)).toStartWith(`${HOST}: ${reason}`);
});

test('of a member one document is read at a time, and others’ meanwhile', async () => {
  const waiting: (() => void)[] = [];
  answer = () => new Promise((resolve) => waiting.push(() => resolve(Response.json(DOCUMENT))));
  const reads = [read(ID, {}, [HOST], 'maria'), read(ID, {}, [HOST], 'maria'), read(ID, {}, [HOST], 'rui')];
  await until('two requests', () => waiting.length === 2);
  for (const end of waiting.splice(0)) end();
  await until('the third', () => waiting.length === 1);
  waiting[0]!();
  expect((await Promise.all(reads)).map(({ id }) => id)).toEqual([ID, ID, ID]);
});

test('a host that does not answer in 3 s, or is never resolved, is refused', async () => {
  answer = () => new Promise(() => {});
  const unresolved = { resolve: () => new Promise<never>(() => {}) };
  const reads = [read(), read(ID, unresolved)].map((read) => read.catch(({ message }: Error) => message));
  expect(await Promise.all(reads)).toEqual(Array(2).fill(`${HOST}: no answer within 3 s`));
});

test('a certificate of another host, or of an unknown authority, is refused', async () => {
  answer = () => Response.json(DOCUMENT);
  const other = 'https://other.example/client.json';
  await expect(read(other, {}, ['*'])).rejects.toThrow('other.example: ERR_TLS_CERT_ALTNAME_INVALID');
  const stranger = createAuthority('stranger').cert;
  await expect(read(ID, { ca: stranger })).rejects.toThrow(HOST);
  expect(requests).toEqual([]);
});

test('nothing is sent to an address that is not public, also if the name has a public one, too', async () => {
  for (const addresses of [['10.0.0.1'], ['93.184.216.34', '127.0.0.1'], ['::1'], []]) {
    const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    const reading = read(ID, { resolve: async () => found, isAllowed: isPublicAddress });
    await expect(reading).rejects.toThrow('its address is not public');
  }
  expect(requests).toEqual([]);
});

test('a host that OAUTH_CLIENT_HOSTS does not name is not even resolved', async () => {
  await expect(read(ID, {}, ['claude.ai'])).rejects.toThrow('OAUTH_CLIENT_HOSTS does not name agent.example');
  expect(resolved).toEqual([]);
});

test('a document has an https address of a host by its name, with a path and nothing behind it', () => {
  const right = ['https://claude.ai/oauth/claude-code-client-metadata', 'https://chatgpt.com/a/client.json'];
  for (const id of [ID, ...right]) expect([id, isDocumentAddress(id)]).toEqual([id, true]);
  for (const id of [
    ...['http://agent.example/client.json', 'https://agent.example/', 'https://agent.example'],
    ...['https://agent.example:8443/client.json', 'https://user@agent.example/client.json'],
    ...['https://agent.example/client.json#a', 'https://agent.example/client.json?a'],
    ...['https://agent.example/../client.json', 'https://AGENT.example/client.json'],
    ...[`https://agent.example/${'x'.repeat(300)}`, 'client_1', ''],
  ])
    expect([id, isDocumentAddress(id)]).toEqual([id, false]);
});

test('special addresses, and texts that are none, are not public', () => {
  for (const address of [
    ...['127.0.0.1', '10.1.2.3', '172.16.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1'],
    ...['0.0.0.0', '224.0.0.1', '255.255.255.255', '192.0.0.1', '198.18.0.1'],
    ...['::', '::1', 'fe80::1', 'fc00::1', 'fd00:ec2::254', 'ff02::1', '::ffff:127.0.0.1'],
    ...['::ffff:8.8.8.8', '64:ff9b::7f00:1', '2002:7f00:1::', '2001::1', '2001:db8::1', '100::1'],
    ...['', 'localhost', '1', '0x7f000001'],
  ])
    expect([address, isPublicAddress(address)]).toEqual([address, false]);
  for (const address of ['8.8.8.8', '93.184.216.34', '172.32.0.1', '2606:4700::1111', '2a00:1450::1'])
    expect([address, isPublicAddress(address)]).toEqual([address, true]);
});

test('a code goes to exactly one of the client’s addresses; on the own machine the port may differ, and nothing else', () => {
  const own = ['https://agent.example/callback', 'http://localhost/callback', 'http://[::1]:1/callback'];
  const takes = (uri: string) => takesRedirect(own, uri);
  for (const uri of [...own, 'http://localhost:5000/callback', 'http://[::1]:5000/callback'])
    expect([uri, takes(uri)]).toEqual([uri, true]);
  for (const uri of [
    'https://agent.example/callback/',
    'https://agent.example:444/callback',
    'https://localhost/callback',
    'http://127.0.0.1/callback',
    'http://localhost:5000/callback?a',
    'http://localhost:5000/other',
  ])
    expect([uri, takes(uri)]).toEqual([uri, false]);
});
