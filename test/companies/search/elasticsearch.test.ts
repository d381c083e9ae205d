/** The search when Elasticsearch is away, frozen or half there, and while the directory is replaced. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Client } from '@elastic/elasticsearch';
import type { SearchEntry } from '../../../src/companies/search/document.ts';
import { NoIndexError } from '../../../src/companies/search/elasticsearch-store.ts';
import { createElasticsearch } from '../../../src/platform/elasticsearch/client.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { elasticsearchUrl } from '../../support/elasticsearch.ts';
import { createOracleSearch } from '../../support/oracle.ts';
import { startProxy, type TcpProxy } from '../../support/proxy.ts';
import { searchEntries, searchOf } from '../../support/search-entries.ts';
import { createSearchIndex, createTestIndexAlias, makeIndexCurrent } from '../../support/search-index.ts';
import { numbered } from './entries.ts';

const entries = numbered(500_000_000, ['Azul, Lda', 'Azulejos do Sul, S.A.', 'Verde']);
const azul = { nif: '500000000', legalName: 'Azul, Lda' };

let client: Client;
let database: TestDatabase;
let alias: string;
let cleanup: () => Promise<void>;

beforeAll(() => {
  client = createElasticsearch({
    elasticsearchUrl: elasticsearchUrl,
    elasticsearchApiKey: null,
  })!;
});
afterAll(() => client.close());
beforeEach(async () => {
  ({ alias, cleanup } = createTestIndexAlias());
  database = await createTestDatabase('search');
});
afterEach(async () => {
  await cleanup();
  await database.drop();
});

/** The answer, or the error that it failed with. */
const outcomeOf = <T>(work: Promise<T>): Promise<T | Error> => work.catch((error: Error) => error);

describe('Elasticsearch behind a proxy', () => {
  let proxy: TcpProxy;
  let proxied: Client;
  let search: (q: string) => Promise<SearchEntry[]>;

  beforeEach(async () => {
    const url = elasticsearchUrl;
    proxy = await startProxy(url);
    proxied = createElasticsearch({ elasticsearchUrl: proxy.url(url), elasticsearchApiKey: null })!;
    await createSearchIndex(client, `${alias}-1`, entries);
    await makeIndexCurrent(client, database.sql, `${alias}-1`);
    const adapter = searchOf(database.sql, proxied);
    search = (q) => searchEntries(adapter, q);
  });
  afterEach(async () => {
    proxy.up();
    await proxied.close();
    await proxy.close();
  });

  test('hung: a crowd of searches fails within the same bound and holds up nothing afterwards', async () => {
    proxy.hang();
    const crowd = await Promise.all(
      Array.from({ length: 3_000 }, (_, i) => outcomeOf(search(i % 2 === 0 ? 'azul' : 'verde'))),
    );
    expect(crowd.every((outcome) => outcome instanceof Error)).toBe(true);
    proxy.up();
    expect(await search('azul')).toEqual([azul, { nif: '500000001', legalName: 'Azulejos do Sul, S.A.' }]);
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
    const stuck = createElasticsearch({
      elasticsearchUrl: `http://127.0.0.1:${server.port}`,
      elasticsearchApiKey: null,
    })!;
    const adapter = searchOf(database.sql, stuck);
    // These are more than the runs that may be in flight at once: if one never ended, the later ones would never begin.
    for (let round = 0; round < 2; round += 1) {
      const attempts = Array.from({ length: 100 }, () => outcomeOf(searchEntries(adapter, 'azul')));
      for (const outcome of await Promise.all(attempts)) expect(outcome).toBeInstanceOf(Error);
    }
    server.stop(true);
    await stuck.close();
  });
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
  await createSearchIndex(client, `${alias}-1`, crowd);
  await makeIndexCurrent(client, database.sql, `${alias}-1`);
  const oracle = createOracleSearch(crowd);
  const search = searchOf(database.sql, client);
  for (const batch of [
    ['azul', 'verde', 'rosa', 'r', 'azul 07', 'nada'],
    ['azul'],
    ['rosa', 'rosa', 'verde m'],
  ]) {
    const found = await Promise.all(batch.map((q) => searchEntries(search, q)));
    expect(found).toEqual(batch.map((q) => oracle.answer(q)));
  }
});

describe('an index that can not answer', () => {
  test('an index that is lost once it is known is no index', async () => {
    await createSearchIndex(client, `${alias}-1`, entries);
    await makeIndexCurrent(client, database.sql, `${alias}-1`);
    const search = searchOf(database.sql, client);
    expect(await searchEntries(search, 'azul')).toHaveLength(2);
    await client.indices.delete({ index: `${alias}-1` });
    for (const q of ['azul', '500000000'])
      expect(await outcomeOf(searchEntries(search, q))).toBeInstanceOf(NoIndexError);
  });

  test('a closed index: the search fails, it does not find nothing', async () => {
    await createSearchIndex(client, `${alias}-1`, entries);
    await makeIndexCurrent(client, database.sql, `${alias}-1`);
    const search = searchOf(database.sql, client);
    expect(await searchEntries(search, 'azul')).toHaveLength(2);
    await client.indices.close({ index: `${alias}-1` });
    for (const q of ['azul', '500000000']) {
      const outcome = await outcomeOf(searchEntries(search, q));
      expect(outcome).toBeInstanceOf(Error);
    }
    await client.indices.open({ index: `${alias}-1`, wait_for_active_shards: 1 });
    expect(await searchEntries(search, 'azul')).toHaveLength(2);
  });

  test('an index without entries finds nothing', async () => {
    await createSearchIndex(client, `${alias}-1`, []);
    await makeIndexCurrent(client, database.sql, `${alias}-1`);
    const search = searchOf(database.sql, client);
    for (const q of ['azul', '500000000']) expect(await searchEntries(search, q)).toEqual([]);
  });
});
