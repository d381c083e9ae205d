/** Readiness says no while requests fail, also when every dependency answers. */
import { afterAll, expect, test } from 'bun:test';
import { createElasticsearch } from '../../src/platform/elasticsearch/client.ts';
import { startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { csv } from '../support/companies.ts';
import '../support/modes.ts';
import { until } from '../support/until.ts';
import { indicesOf } from '../support/workbench.ts';

const api = await startApi({ mode: 'full', directory: csv(1, 3), env: { SEARCH_CACHE_MB: '0' } });
afterAll(() => api.stop());

async function ready() {
  const answer = await fetch(`${api.baseUrl}/health/ready`);
  const { status, dependencies } = (await answer.json()) as {
    status: string;
    dependencies: Record<string, { status: string }>;
  };
  const down = Object.keys(dependencies).filter((name) => dependencies[name]!.status === 'down');
  return { http: answer.status, status, down };
}
const READY = { http: 200, status: 'ready', down: [] };

test('503 while Postgres answers reads and settles no batch of credits', async () => {
  const { key, accountId } = await api.caller();
  const search = () => ask(api, '/companies?q=empresa', { key });
  expect((await search()).status).toBe(200);
  expect(await ready()).toEqual(READY);
  const journal = await api.sql.reserve();
  await journal`BEGIN`;
  await journal`LOCK TABLE call_journal IN EXCLUSIVE MODE`;
  expect((await search()).status).toBe(503);
  await until('the probe', async () => (await ready()).http === 503);
  expect(await ready()).toEqual({ http: 503, status: 'unavailable', down: ['credits'] });
  await journal`ROLLBACK`;
  journal.release();
  await until('readiness', async () => (await ready()).http === 200);
  await until('search', async () => (await search()).status === 200);
  await until('the ledger', async () => (await api.ledger({ accountId })).used === 2);
});

test('degraded while the index that serves answers no search', async () => {
  const { ELASTICSEARCH_URL, ELASTICSEARCH_PREFIX } = api.env;
  const client = createElasticsearch({ elasticsearchUrl: ELASTICSEARCH_URL!, elasticsearchApiKey: null })!;
  const index = await indicesOf({ alias: ELASTICSEARCH_PREFIX! });
  // A closed index answers no search, as one whose nodes are gone.
  await client.indices.close({ index, wait_for_active_shards: 0 });
  expect(await ready()).toEqual({ http: 200, status: 'degraded', down: ['directory'] });
  await client.indices.open({ index, wait_for_active_shards: 0 });
  await until('the shard', async () => (await ready()).status === 'ready');
  await client.close();
});

test('without an index searches, matches and resolutions are free 503s with the error in the log, and readiness is degraded', async () => {
  const { key, accountId } = await api.caller();
  const { ELASTICSEARCH_URL, ELASTICSEARCH_PREFIX } = api.env;
  const client = createElasticsearch({ elasticsearchUrl: ELASTICSEARCH_URL!, elasticsearchApiKey: null })!;
  await client.indices.delete({ index: await indicesOf({ alias: ELASTICSEARCH_PREFIX! }) });
  await client.close();
  const from = api.logLines.length;
  for (const path of ['/companies?q=empresa', '/matches?q=empresa']) {
    const { status, headers } = await ask(api, path, { key });
    expect([path, status, headers.get('X-Credits')]).toEqual([path, 503, '0']);
  }
  const { body } = await ask(api, '/resolutions', { key, json: { names: ['Empresa'] } });
  expect(JSON.stringify(body)).toContain('service-unavailable');
  await until('the log', async () => JSON.stringify(api.logLines.slice(from)).includes('no search index'));
  await until('the probe', async () => (await ready()).down.includes('directory'));
  await until('the refunds', async () => (await api.ledger({ accountId })).used === 0);
});
