import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createLookup } from '../../src/companies/lookup/lookup.ts';
import { createLookupHandler } from '../../src/companies/lookup/lookup-route.ts';
import { searchLines, sendSearches } from '../../src/companies/search/msearch.ts';
import { createSearchHandler } from '../../src/companies/search/search-route.ts';
import type { Input } from '../../src/http/input.ts';
import type { Handler } from '../../src/metering/admission/quote.ts';
import { connectRedis } from '../../src/metering/rate-limit/redis.ts';
import { createUsageHandler } from '../../src/metering/usage/usage-route.ts';
import { createElasticsearch } from '../../src/platform/elasticsearch/client.ts';
import { isBug } from '../../src/platform/errors.ts';
import { createLogTo } from '../../src/platform/observability/log.ts';
import { connectPostgres } from '../../src/platform/postgres/connect.ts';
import { OverloadedError } from '../../src/platform/runtime/timeout.ts';
import { runHandler } from '../support/handler.ts';
import { stopClock } from '../support/stopped-clock.ts';

const missing = null as unknown as { member: string };
const empty = {} as unknown as { method(): void };

const BUGS: [string, () => unknown][] = [
  ['a member of null', () => missing.member],
  ['a call of a method that is not there', () => empty.method()],
  ['an array of length -1', () => new Array(-1)],
  ['a text longer than the engine can hold', () => 'x'.repeat(2 ** 40)],
  ['an undeclared name', () => new Function('return undeclared')()],
  ['JSON that ends in the middle', () => JSON.parse('{')],
  ['a malformed escape', () => decodeURIComponent('%')],
];

test.each(BUGS)('%s is a bug', async (_name, run) => {
  expect(isBug(await Promise.try(run).catch((error) => error))).toBe(true);
});

describe('an outage is not a bug', () => {
  const HEAD = 'HTTP/1.1 200 OK\r\nx-elastic-product: Elasticsearch\r\ncontent-type: application/json\r\n';
  const ANSWERS: [string, (socket: Socket) => void][] = [
    ['closes the connection', (socket) => socket.destroy()],
    ['resets the connection', (socket) => socket.resetAndDestroy()],
    ['speaks another protocol', (socket) => socket.end('SSH-2.0-OpenSSH_9\r\n')],
    ['ends inside the body', (socket) => socket.end(`${HEAD}content-length: 99\r\n\r\n{"resp`)],
    ['sends a broken chunk', (socket) => socket.end(`${HEAD}transfer-encoding: chunked\r\n\r\nzz\r\n{}`)],
    [
      'sends broken gzip',
      (socket) => socket.end(`${HEAD}content-encoding: gzip\r\ncontent-length: 5\r\n\r\nhello`),
    ],
  ];
  let answer: (socket: Socket) => void;
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => answer(socket));
  });
  let address: string;
  beforeAll(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.close());

  async function expectOutages(...failed: PromiseLike<unknown>[]): Promise<void> {
    const outcomes = await Promise.allSettled(failed);
    const seen = outcomes.map((outcome) => {
      if (outcome.status === 'fulfilled') return 'answered';
      return isBug(outcome.reason) ? String(outcome.reason) : 'outage';
    });
    expect(seen).toEqual(failed.map(() => 'outage'));
  }

  test.each(ANSWERS)('when what stands for Elasticsearch %s', async (_name, answerSo) => {
    answer = answerSo;
    const client = createElasticsearch({ elasticsearchUrl: `http://${address}`, elasticsearchApiKey: null })!;
    await expectOutages(sendSearches(client, [searchLines('companies', { match_all: {} })], 1500));
    await client.close();
  });

  test('when what stands for Postgres resets the connection', async () => {
    answer = (socket) => socket.resetAndDestroy();
    const sql = connectPostgres(`postgres://test@${address}/test`, { max: 1 });
    await expectOutages(sql`SELECT 1`);
    await sql.end({ timeout: 0 });
  });

  test('when nothing listens', async () => {
    const sql = connectPostgres('postgres://test@127.0.0.1:9/test', { max: 1 });
    const redis = connectRedis('redis://127.0.0.1:9');
    const fetches = [fetch('http://127.0.0.1:9/'), fetch('http://nowhere.invalid/')];
    // As some versions of Bun and Node's buffers have it.
    const coded = Promise.reject(Object.assign(new TypeError('failed'), { code: 'ConnectionRefused' }));
    await expectOutages(...fetches, sql`SELECT 1`, redis.ping(), coded);
    redis.disconnect();
    await sql.end({ timeout: 0 });
  });
});

describe('a bug in what a handler asks is thrown on, to become an internal error', () => {
  const bug = () => Promise.reject(new TypeError("null is not an object (evaluating 'row.nif')"));
  const outage = () => Promise.reject(new Error('Postgres did not answer within 2000 ms'));
  const lookup = (findCompany: () => Promise<never>) =>
    createLookupHandler({
      findCompany,
      lookUp: createLookup({
        refresher: { refresh: () => Promise.reject(new Error('asked')) },
        timeoutMs: 1000,
      }),
      findRefusal: () => null,
    });

  const CASES: [string, Input, string, (find: () => Promise<never>) => Handler][] = [
    ['a search', { q: 'abaco' }, 'search-failed', (search) => createSearchHandler({ search })],
    ['a lookup', { nif: '500002576' }, 'service-unavailable', lookup],
    ['usage', {}, 'service-unavailable', (find) => createUsageHandler({ readAccount: find, readKey: find })],
  ];
  test('a search that queued too long in this process is service-unavailable', async () => {
    const overloaded = () => Promise.reject(new OverloadedError('queued too long'));
    expect(await kindOf(createSearchHandler({ search: overloaded }), { q: 'abaco' })).toBe(
      'service-unavailable',
    );
  });

  test.each(CASES)('%s: an outage stays its own problem', async (_name, input, kind, create) => {
    expect(await kindOf(create(outage), input)).toBe(kind);
    await expect(kindOf(create(bug), input)).rejects.toBeInstanceOf(TypeError);
  });
});

test('a bug is written once a minute for each message', () => {
  const written: string[] = [];
  const { bug } = createLogTo({ write: (line) => void written.push(JSON.parse(line).err.message) });
  const clock = stopClock();
  for (let request = 0; request < 1000; request += 1)
    for (const message of ['one', 'other']) bug(new TypeError(message), 'a handler failed');
  expect(written).toEqual(['one', 'other']);
  clock.pass(60_000);
  bug(new TypeError('one'), 'a handler failed');
  expect(written).toEqual(['one', 'other', 'one']);
  clock.restore();
});

/** The kind of problem that a handler answers. */
async function kindOf<Of>(handler: Handler<Of>, input: Of): Promise<string | null> {
  const answer = await runHandler(handler, input);
  return answer.ok ? null : answer.problem.kind;
}
