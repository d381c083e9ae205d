import { afterEach, beforeEach, expect, jest, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { errors } from '@elastic/elasticsearch';
import { createElasticsearch } from '../../../src/platform/elasticsearch/client.ts';
import { FetchConnection } from '../../../src/platform/elasticsearch/connection.ts';
import { createLogTo } from '../../../src/platform/observability/log.ts';
import { createFolder } from '../../support/folder.ts';
import { until } from '../../support/until.ts';

type Respond = (request: Request) => Response | Promise<Response>;

const HEADERS = { 'content-type': 'application/json', 'x-elastic-product': 'Elasticsearch' };
const answered = (body: unknown, status = 200) => Response.json(body, { status, headers: HEADERS });

let respond: Respond;
let server: ReturnType<typeof Bun.serve>;
const start = (port: number) =>
  Bun.serve({ hostname: '127.0.0.1', port, fetch: (request) => respond(request) });
beforeEach(() => {
  respond = () => answered({ ok: true });
  server = start(0);
});
afterEach(() => server.stop(true));

const client = (url: string, apiKey: string | null = null) =>
  createElasticsearch({ elasticsearchUrl: url, elasticsearchApiKey: apiKey })!;

/** The requests that the server was sent. */
async function sent(url: string, apiKey: string | null = null) {
  let seen: { path: string; headers: Headers; body: string } | null = null;
  respond = async (request) => {
    const { pathname, search } = new URL(request.url);
    seen = { path: pathname + search, headers: request.headers, body: await request.text() };
    return answered({ ok: true });
  };
  const answer = await client(url, apiKey).transport.request({
    method: 'POST',
    path: '/_msearch',
    querystring: { filter_path: 'a,b' },
    bulkBody: '{"ã":1}\n',
  });
  expect(answer).toEqual({ ok: true });
  return seen!;
}

test('a request arrives with its path, its text and the key, which goes before a password', async () => {
  const { path, headers, body } = await sent(`http://me:unsaid@127.0.0.1:${server.port}`, 'abc=');
  expect(path).toBe('/_msearch?filter_path=a%2Cb');
  expect(body).toBe('{"ã":1}\n');
  expect(headers.get('authorization')).toBe('ApiKey abc=');
  expect(headers.get('content-type')).toContain('ndjson');
  expect(headers.get('accept-encoding')).toBe('identity');
});

test('an address may have a path, a name and a password', async () => {
  const { path, headers } = await sent(`http://me:p%40ss@127.0.0.1:${server.port}/search/`);
  expect(path).toBe('/search/_msearch?filter_path=a%2Cb');
  expect(headers.get('authorization')).toBe(`Basic ${btoa('me:p@ss')}`);
});

test('a password that is refused, or whose server is away, is in no line of the log', async () => {
  respond = () => answered({ error: { type: 'security_exception' }, status: 401 }, 401);
  const lines: string[] = [];
  const log = createLogTo({ write: (line) => void lines.push(line) });
  for (const port of [server.port, 1]) {
    const one = client(`http://me:wrong-secret@127.0.0.1:${port}`);
    const failed = await one.count({ index: 'companies' }, { maxRetries: 0 }).catch((error) => error);
    log.error({ err: failed }, 'failed');
  }
  expect(lines).toEqual([expect.stringContaining('security_exception'), expect.stringContaining('refused')]);
  for (const secret of ['wrong-secret', btoa('me:wrong-secret')]) expect(lines.join()).not.toContain(secret);
});

test('the proxy of the environment is not asked', async () => {
  const before = process.env.HTTP_PROXY;
  process.env.HTTP_PROXY = 'http://127.0.0.1:1';
  try {
    expect((await sent(server.url.origin)).body).toBe('{"ã":1}\n');
  } finally {
    if (before === undefined) delete process.env.HTTP_PROXY;
    else process.env.HTTP_PROXY = before;
  }
});

test('too late, given up, closed and away are told apart, and the server sees that nobody waits', async () => {
  let asked = 0;
  let dropped = 0;
  const arrived = Promise.withResolvers<void>();
  respond = (request) => {
    asked += 1;
    arrived.resolve();
    request.signal.addEventListener('abort', () => {
      dropped += 1;
    });
    return new Promise(() => {});
  };
  const ask = (options: { requestTimeout?: number; signal?: AbortSignal }, one = client(server.url.origin)) =>
    one.transport.request({ method: 'GET', path: '/slow' }, { maxRetries: 0, ...options }).then(
      () => null,
      (error) => error,
    );

  // The time passes once the server has the request, or it would have nothing to see.
  jest.useFakeTimers();
  const late = ask({ requestTimeout: 50 });
  await arrived.promise;
  jest.advanceTimersByTime(50);
  jest.useRealTimers();
  expect(await late).toBeInstanceOf(errors.TimeoutError);
  await until('the server to see it', () => dropped === 1);

  const cancelled = new AbortController();
  void until('the request', () => asked === 2).then(() => cancelled.abort());
  expect(await ask({ signal: cancelled.signal })).toBeInstanceOf(errors.RequestAbortedError);
  await until('the server to see it', () => dropped === 2);

  const closing = client(server.url.origin);
  void until('the request', () => asked === 3).then(() => closing.close());
  expect(await ask({}, closing)).toBeInstanceOf(errors.RequestAbortedError);
  await until('the server to see it', () => dropped === 3);

  await server.stop(true);
  expect(await ask({})).toBeInstanceOf(errors.ConnectionError);
});

test('an answer that arrived while this process was busy is in time', async () => {
  const folder = createFolder('busy');
  const isAnswered = join(folder, 'answered');
  const program = `const { port } = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch() {
    setTimeout(() => Bun.write(${JSON.stringify(isAnswered)}, 'yes'), 50);
    return Response.json({ ok: true }, { headers: ${JSON.stringify(HEADERS)} });
  } });
  console.log(port);`;
  await using other = Bun.spawn([process.execPath, '-e', program], { stdout: 'pipe' });
  const { value } = await other.stdout.getReader().read();
  const url = new URL(`http://127.0.0.1:${new TextDecoder().decode(value).trim()}`);
  const options = { requestId: 1, name: 'test', context: null, timeout: 50 };
  const answer = new FetchConnection({ url }).request({ method: 'GET', path: '/' }, options);
  for (let wait = 0; wait < 2000 && !existsSync(isAnswered); wait += 1) Bun.sleepSync(5);
  Bun.sleepSync(100); // until this process has the answer
  expect((await answer).body).toBe('{"ok":true}');
});

test('why it failed is said in plain words, without Bun’s advice to programmers', async () => {
  const reply = (text: string) =>
    Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        data(socket) {
          socket.end(text);
        },
      },
    });
  const [garbage, hangUp] = [reply('-ERR unknown command\r\n'), reply('')];
  const messageAt = (url: string) =>
    client(url)
      .transport.request({ method: 'GET', path: '/' }, { maxRetries: 0, requestTimeout: 2_000 })
      .then(String, (error) => error.message);
  const at = (port: number, scheme = 'http') => messageAt(`${scheme}://127.0.0.1:${port}`);
  const here = server.port!;
  expect(await at(here, 'https')).toBe('what answers does not speak TLS');
  expect(await at(garbage.port)).toBe('what answers is not HTTP');
  expect(await at(hangUp.port)).toBe('the connection was closed without a whole answer');
  expect(await messageAt('http://nowhere.invalid:9200')).toBe('the host is not found');
  respond = () => new Promise(() => {});
  expect(await at(here)).toBe('no answer in time');
  await server.stop(true);
  expect(await at(here)).toBe('the connection is refused, or the host is out of reach');
  garbage.stop(true);
  hangUp.stop(true);
});

test('a connection that was closed while it was free is made again', async () => {
  const one = client(server.url.origin);
  const ask = () => one.transport.request({ method: 'GET', path: '/' }, { maxRetries: 0 });
  expect(await ask()).toEqual({ ok: true });
  const port = server.port!;
  await server.stop(true);
  server = start(port);
  expect(await ask()).toEqual({ ok: true });
});
