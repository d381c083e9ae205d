/** Searches by an Elasticsearch that answers in its own ways, in other ways than its own, or half. */
import { afterAll, expect, test } from 'bun:test';
import type { Client } from '@elastic/elasticsearch';
import { NoIndexError } from '../../../src/companies/search/elasticsearch-store.ts';
import { createElasticsearch } from '../../../src/platform/elasticsearch/client.ts';
import { messageOf } from '../../../src/platform/errors.ts';
import type { Sql } from '../../../src/platform/postgres/connect.ts';
import { elasticsearchUrl } from '../../support/elasticsearch.ts';
import { searchEntries, searchOf } from '../../support/search-entries.ts';
import { createDirectory } from '../../support/search-index.ts';
import { createSearchOracle } from '../oracles.ts';
import { numbered } from './entries.ts';

const entries = numbered(500_000_000, ['Azul, Lda', 'Azulejos do Sul, S.A.', 'Verde']);
const [azul] = entries;

const clientOf = (url: string) => createElasticsearch({ elasticsearchUrl: url, elasticsearchApiKey: null })!;
const client = clientOf(elasticsearchUrl);
const shared = await createDirectory(entries, client);
afterAll(async () => {
  await shared.close();
  await client.close();
});

function openSearch(asked: Client, sql: Sql = shared.sql) {
  const directory = searchOf(sql, asked);
  return (q: string) => searchEntries(directory, q);
}

/** An Elasticsearch whose searches have these answers in turn; the rest is the real one's. */
function answering(bodies: string[], status = 200) {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const headers = { 'content-type': 'application/json', 'x-elastic-product': 'Elasticsearch' };
      if (pathname.endsWith('/_msearch')) return new Response(bodies.shift(), { headers, status });
      const { method, body } = request;
      return fetch(elasticsearchUrl + pathname + search, { method, headers: request.headers, body });
    },
  });
  const asked = clientOf(server.url.origin);
  return {
    search: openSearch(asked),
    async [Symbol.asyncDispose]() {
      await asked.close();
      await server.stop(true);
    },
  };
}

test('any other answer than entries for every search is an error, not an empty result', async () => {
  const item = (sort: unknown[]) => ({ status: 200, timed_out: false, hits: { hits: [{ sort }] } });
  const entry = 'azul\t500000000Azul, Lda';
  const nothing = { status: 200, timed_out: false };
  const noEntries = 'Elasticsearch did not answer every search of the request with directory entries';
  const entryless = [
    null,
    {},
    [],
    { responses: {} },
    { responses: [null] },
    { responses: [] },
    { responses: [nothing, nothing] },
    { responses: [{ ...nothing, hits: { hits: 7 } }] },
    ...[[], [null], [7], ['azul'], ['azul\t50000257Azul'], ['azul 500000257Azul', entry]].map((sort) => ({
      responses: [item(sort)],
    })),
  ];
  const failed: [object, string][] = [
    [{}, 'Elasticsearch answered 0'],
    [{ ...nothing, timed_out: true }, 'Elasticsearch answered too late'],
    [{ status: 404, error: { type: 'index_not_found_exception' } }, 'no search index'],
  ];
  const told: [body: string, message: string][] = [
    ...entryless.map((body): [string, string] => [JSON.stringify(body), noEntries]),
    ...failed.map(([one, message]): [string, string] => [JSON.stringify({ responses: [one] }), message]),
    ['', noEntries],
    ['<html>', 'JSON'],
    ['{"responses":[', 'JSON'],
  ];
  const right = JSON.stringify({ responses: [item([entry])] });
  await using elasticsearch = answering([...told.map(([body]) => body), right]);
  const { search } = elasticsearch;
  for (const [body, message] of told) {
    const outcome = await search('500000000').catch(messageOf);
    expect([body, outcome]).toEqual([body, expect.stringContaining(message)]);
  }
  expect(await search('500000000')).toEqual([azul!]);
});

test('a refusal is told by its type alone: its text may have the query, and no log has one', async () => {
  const error = { type: 'parse_exception', reason: 'no such thing as [azul]' };
  await using elasticsearch = answering([JSON.stringify({ error, status: 400 })], 400);
  const failure = await elasticsearch
    .search('azul')
    .then(String, ({ message, stack, ...more }) => JSON.stringify([message, stack, more]));
  expect(failure).toContain('parse_exception');
  expect(failure).not.toContain('azul');
});

test('frozen in the middle of an answer: the search fails within its bound, the next ones work', async () => {
  // Headers and the beginning of a body, and then nothing: no proxy can be made to cut there.
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket) {
        const begun =
          'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-elastic-product: Elasticsearch\r\n';
        socket.write(`${begun}content-length: 5000\r\n\r\n{"responses":[`);
      },
    },
  });
  const stuck = clientOf(`http://127.0.0.1:${server.port}`);
  const search = openSearch(stuck);
  // These are more than the runs that may be in flight at once: if one never ended, the later ones would never begin.
  for (let round = 0; round < 2; round += 1) {
    const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => search('azul')));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toEqual([]);
  }
  server.stop(true);
  await stuck.close();
});

test('names of one batch that share the search for their equals each get all of theirs', async () => {
  const crowd = numbered(500_000_000, [
    ...Array.from({ length: 130 }, (_, i) => `Azul${' '.repeat(i % 3)}, Lda`),
    ...Array.from({ length: 30 }, (_, i) => `Azul ${String(i).padStart(2, '0')}`),
    ...Array.from({ length: 25 }, () => 'Verde, S.A.'),
    'Verde Mar',
    'Rosa',
    'Rosa Brava',
  ]);
  await using directory = await createDirectory(crowd, client);
  const search = openSearch(client, directory.sql);
  const oracle = createSearchOracle(crowd);
  for (const batch of [
    ['azul', 'verde', 'rosa', 'r', 'azul 07', 'nada'],
    ['azul'],
    ['rosa', 'rosa', 'verde m'],
  ]) {
    expect(await Promise.all(batch.map(search))).toEqual(batch.map(oracle));
  }
});

test('an index that is closed or lost fails each search, and one without entries finds nothing', async () => {
  await using directory = await createDirectory([], client);
  const index = directory.index!;
  const search = openSearch(client, directory.sql);
  const searches = () => Promise.all(['azul', '500000000'].map((q) => search(q).catch((error) => error)));
  expect(await searches()).toEqual([[], []]);
  await client.indices.close({ index });
  expect(await searches()).toEqual([expect.any(Error), expect.any(Error)]);
  await client.indices.open({ index, wait_for_active_shards: 1 });
  expect(await searches()).toEqual([[], []]);
  await client.indices.delete({ index });
  expect(await searches()).toEqual([expect.any(NoIndexError), expect.any(NoIndexError)]);
});
