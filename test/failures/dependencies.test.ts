import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { generateSecret } from '../../src/metering/keys/secret.ts';
import { createElasticsearch } from '../../src/platform/elasticsearch/client.ts';
import { BATCH_TOTALS } from '../../src/platform/runtime/batcher.ts';
import { PLENTY, startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { csv, nif } from '../support/companies.ts';
import '../support/modes.ts';
import { hold } from '../support/locks.ts';
import { readMetrics } from '../support/metrics.ts';
import { nifPtFound } from '../support/provider.ts';
import { until } from '../support/until.ts';
import { indicesOf } from '../support/workbench.ts';

const FOUND = nif(1);

const api = await startApi({
  mode: 'full',
  proxied: ['postgres', 'elasticsearch', 'redis'],
  directory: csv(1, 4),
  // Without a cache every search asks Elasticsearch; a cached answer would hide that it is away.
  env: { SEARCH_CACHE_MB: '0' },
});
api.provider.answer(FOUND, nifPtFound(FOUND));
const caller = await api.caller(PLENTY);
await ask(api, `/companies/${FOUND}`, { key: caller.key });
afterEach(() => {
  for (const proxy of Object.values(api.proxies)) proxy.up();
});
afterAll(() => api.stop());

const get = (path: string, key = caller.key) => ask(api, path, { key });
const ready = async ({ baseUrl } = { baseUrl: api.baseUrl }) => {
  const answer = await fetch(`${baseUrl}/health/ready`);
  const text = await answer.text();
  // The answer does not tell the addresses of the dependencies.
  expect(text).not.toMatch(/127\.0\.0\.1|localhost|:\d{4,5}\b|ECONN|password/i);
  const { status: says, dependencies } = JSON.parse(text) as {
    status: string;
    dependencies: Record<string, { status: string }>;
  };
  const down = Object.keys(dependencies).filter((name) => dependencies[name]!.status === 'down');
  return { status: answer.status, says, down, dependencies };
};
const live = async () => (await fetch(`${api.baseUrl}/health/live`)).status;
/** The buckets are Redis's again. */
const bucketsAreShared = (instance: { url: string; baseUrl: string }) =>
  until('the shared bucket', async () => {
    await ask(instance, '/usage', { key: caller.key });
    return (await readMetrics(instance)).rate_limit_local === 0;
  });
const searchRecovers = () => until('search', async () => (await get('/companies?q=empresa')).status === 200);

test('503 while Postgres answers reads and settles no batch of credits', async () => {
  const { key, accountId } = await api.caller();
  const search = () => get('/companies?q=empresa', key);
  expect((await search()).status).toBe(200);
  expect(await ready()).toMatchObject({ status: 200, says: 'ready', down: [] });
  const journal = await hold(api.sql, (sql) => sql`LOCK TABLE call_journal IN EXCLUSIVE MODE`);
  expect((await search()).status).toBe(503);
  await until('the probe', async () => (await ready()).down.includes('credits'));
  expect(await ready()).toMatchObject({ status: 503, says: 'unavailable', down: ['credits'] });
  await journal.release();
  await until('readiness', async () => (await ready()).status === 200);
  await until('search', async () => (await search()).status === 200);
  await until('the ledger', async () => (await api.ledger({ accountId })).used === 2);
});

describe.each(['down', 'hang'] as const)('Postgres %s', (how) => {
  test('no key can be looked up, no credit counted, none is lost, and all is well when it is back', async () => {
    const before = await api.ledger(caller);
    // So it is known for the next 4 s.
    await until('a look-up of the key', async () => {
      const { batches } = BATCH_TOTALS.get('key')!;
      return (await get('/usage')).status === 200 && BATCH_TOTALS.get('key')!.batches > batches;
    });
    api.proxies.postgres[how]();
    const [unknown, known, search, malformed] = await Promise.all([
      get('/usage', generateSecret()),
      get(`/companies/${FOUND}`),
      get('/companies?q=empresa'),
      get('/usage', 'svc_nonsense'),
    ]);
    expect([unknown.status, unknown.kind]).toEqual([500, 'authentication-failed']);
    expect([malformed.status, malformed.kind]).toEqual([401, 'unauthorized']);
    for (const { status, kind, headers } of [known, search]) {
      expect([status, kind, headers.get('Retry-After')]).toEqual([503, 'service-unavailable', '1']);
    }
    const health = await ready();
    expect([health.status, health.dependencies.postgres!.status]).toEqual([503, 'down']);
    expect(await live()).toBe(200);
    api.proxies.postgres.up();
    await until('Postgres', async () => (await get(`/companies/${FOUND}`)).status === 200);
    await until('readiness', async () => (await ready()).status === 200);
    // What was refused has cost nothing; the polls above that were charged have.
    const answered = api.logLines.filter(
      ({ msg, route, status, account }) =>
        msg === 'request' &&
        account === caller.accountId &&
        String(route).includes('/companies') &&
        Number(status) < 503,
    ).length;
    expect(answered).toBeGreaterThan(before.used);
    // A statement that was lost on the way may have charged late, and is refunded then.
    await until('the refunded credits', async () => (await api.ledger(caller)).used === answered);
  });
});

describe.each(['down', 'hang'] as const)('Elasticsearch %s', (how) => {
  test('searches fail in time and cost their credit; lookups and usage go on; it recovers', async () => {
    await searchRecovers();
    const own = await api.caller(PLENTY);
    const { used } = await api.ledger(own);
    api.proxies.elasticsearch[how]();
    const logged = api.logLines.length;
    const failed = await get('/companies?q=empresa', own.key);
    expect([failed.status, failed.kind]).toEqual([500, 'search-failed']);
    // An outage fails thousands: one line each says why.
    const lines = api.logLines.slice(logged);
    expect(lines.map(({ msg }) => msg)).toEqual(['request']);
    expect(lines[0]).toMatchObject({ level: 40, status: 500, error: expect.stringMatching(/^\w*Error: \w/) });
    expect(JSON.stringify(lines)).not.toContain('empresa');
    for (const path of [`/companies/${FOUND}`, '/usage']) {
      expect([path, (await get(path, own.key)).status]).toEqual([path, 200]);
    }
    expect((await get('/companies?q=%20', own.key)).kind).toBe('validation');
    expect((await api.ledger(own)).used).toBe(used + 3);
    const health = await ready();
    expect([health.status, health.dependencies.elasticsearch!.status]).toEqual([503, 'down']);
    expect(await live()).toBe(200);

    // After seconds without any node, searches are not tried, and cost nothing.
    let tried = 0;
    await until('a free refusal', async () => {
      const { status, headers } = await get('/companies?q=empresa', own.key);
      if (status === 500) tried += 1;
      else expect([status, headers.get('Retry-After')]).toEqual([503, '1']);
      return status === 503;
    });
    await until('the returned credit', async () => (await api.ledger(own)).used === used + 3 + tried);
    const { host } = new URL(api.env.ELASTICSEARCH_URL!);
    const node = async () => {
      const metrics = await readMetrics(api);
      const others = ['up', 'warning'].map((flag) => metrics[`dependency_${flag}{dependency="postgres"}`]);
      expect(others).toEqual([1, 0]);
      const of = ['dependency_up{dependency="elasticsearch"}', `elasticsearch_node_up{node="${host}"}`];
      return of.map((series) => metrics[series]);
    };
    expect(await node()).toEqual([0, 0]);
    api.proxies.elasticsearch.up();
    await searchRecovers();
    await until('readiness', async () => (await ready()).status === 200);
    expect(await node()).toEqual([1, 1]);
    const said = api.logLines.slice(logged).filter((line) => line.node !== undefined);
    expect(said.map(({ level, node }) => [level, node])).toEqual([
      [40, host],
      [30, host],
    ]);
  });
});

describe.each(['down', 'hang'] as const)('Redis %s', (how) => {
  test('the service keeps answering and limiting, never a 500, each request within its bound; it recovers', async () => {
    const limited = await api.caller({ limits: { requestsPerMinute: 6 } });
    // Redis knows that two tokens are gone; the process goes on from there.
    for (let i = 0; i < 2; i++) expect((await get('/usage', limited.key)).status).toBe(200);
    const logged = api.logLines.length;
    api.proxies.redis[how]();
    const statuses: number[] = [];
    for (let i = 0; i < 10; i++) {
      statuses.push((await get('/usage', limited.key)).status);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429, 429, 429, 429, 429]);
    const health = await ready();
    expect([health.status, health.dependencies.redis!.status]).toEqual([200, 'down']);
    // The reason is that of the connection, not that of a command that has none.
    const reasons = api.logLines.slice(logged).flatMap(({ err }) => (err ? [(err as Error).message] : []));
    expect(reasons).toHaveLength(2);
    for (const reason of reasons)
      expect(reason).toMatch(how === 'hang' ? /redis did not answer/i : /ECONN|lost/);
    api.proxies.redis.up();
    await until('Redis', async () => (await ready()).dependencies.redis!.status === 'up');
    await bucketsAreShared(api);
  });
});

describe('a start while a dependency is away', () => {
  test('Redis: the service starts, limits by itself, and shares buckets once it is back', async () => {
    api.proxies.redis.down();
    const instance = await api.startInstance();
    const { key } = await api.caller({ limits: { requestsPerMinute: 3 } });
    for (let i = 0; i < 3; i++) expect((await ask(instance, '/usage', { key })).status).toBe(200);
    expect((await ask(instance, '/usage', { key })).status).toBe(429);
    api.proxies.redis.up();
    const other = await api.caller({ limits: { requestsPerMinute: 6 } });
    await until('Redis', async () => (await ready(instance)).says === 'ready');
    for (const each of [instance, api]) await bucketsAreShared(each);
    for (let i = 0; i < 3; i++) {
      expect((await ask(instance, '/usage', { key: other.key })).status).toBe(200);
      expect((await get('/usage', other.key)).status).toBe(200);
    }
    expect((await ask(instance, '/usage', { key: other.key })).status).toBe(429);
    await instance.stop();
  });

  test.each(['down', 'hang'] as const)(
    'Elasticsearch %s: the service starts, searches fail, then work',
    async (how) => {
      api.proxies.elasticsearch[how]();
      const instance = await api.startInstance();
      const said = () => instance.logLines.filter(({ msg }) => msg.endsWith(': check ELASTICSEARCH_URL'));
      await until('the line', () => said().length > 0);
      const search = () => ask(instance, '/companies?q=empresa', { key: caller.key });
      expect((await search()).kind).toMatch(/^(search-failed|service-unavailable)$/);
      expect((await ask(instance, `/companies/${FOUND}`, { key: caller.key })).status).toBe(200);
      expect((await ready(instance)).status).toBe(503);
      expect(instance.logLines).toContainEqual(
        expect.objectContaining({ msg: 'a dependency is down', dependency: 'elasticsearch' }),
      );
      expect(said()).toHaveLength(1);
      api.proxies.elasticsearch.up();
      await until('search', async () => (await search()).status === 200);
      await instance.stop();
    },
  );

  test.each(['down', 'hang'] as const)('Postgres %s: the start ends with one line, exit 1', async (how) => {
    api.proxies.postgres[how]();
    const outcome = await api.spawnInstance().catch((error: Error) => error.message);
    expect(outcome).toStartWith('serve ended with 1 before it listened\n');
    const complaint = String(outcome).split('\n').slice(1).filter(Boolean);
    expect(complaint).toHaveLength(1);
    expect(complaint[0]).toStartWith("error: Postgres can't be reached");
    expect(complaint[0]).not.toMatch(/postgres:postgres|password/);
  });
});

describe('without its index', () => {
  const client = createElasticsearch({
    elasticsearchUrl: api.env.ELASTICSEARCH_URL!,
    elasticsearchApiKey: null,
  })!;
  const indices = () => indicesOf({ alias: api.env.ELASTICSEARCH_PREFIX! });
  afterAll(() => client.close());

  test('degraded while the index that serves answers no search', async () => {
    const index = await indices();
    // A closed index answers no search, as one whose nodes are gone.
    await client.indices.close({ index, wait_for_active_shards: 0 });
    expect(await ready()).toMatchObject({ status: 200, says: 'degraded', down: ['directory'] });
    await client.indices.open({ index, wait_for_active_shards: 0 });
    await until('the shard', async () => (await ready()).says === 'ready');
  });

  test('without an index searches, matches and resolutions are free 503s with the error in the log, and readiness is degraded', async () => {
    const { key, accountId } = await api.caller();
    await client.indices.delete({ index: await indices() });
    const from = api.logLines.length;
    for (const path of ['/companies?q=empresa', '/matches?q=empresa']) {
      const { status, headers } = await get(path, key);
      expect([path, status, headers.get('X-Credits')]).toEqual([path, 503, '0']);
    }
    const { body } = await ask(api, '/resolutions', { key, json: { names: ['Empresa'] } });
    expect(JSON.stringify(body)).toContain('service-unavailable');
    await until('the log', async () => JSON.stringify(api.logLines.slice(from)).includes('no search index'));
    await until('the probe', async () => (await ready()).down.includes('directory'));
    await until('the refunds', async () => (await api.ledger({ accountId })).used === 0);
  });
});
