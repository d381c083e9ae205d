import { afterEach, beforeEach, expect, test } from 'bun:test';
import type { DiagnosticResult } from '@elastic/elasticsearch';
import { statusReport } from '../../../src/companies/directory/index-status.ts';
import { checkDirectory } from '../../../src/companies/directory/watch.ts';
import { createElasticsearch } from '../../../src/platform/elasticsearch/client.ts';
import { messageOf } from '../../../src/platform/errors.ts';
import { createCommandLine } from '../../support/command.ts';
import { csv, nif } from '../../support/companies.ts';
import { elasticsearchUrl } from '../../support/elasticsearch.ts';
import { startProxy, type TcpProxy } from '../../support/proxy.ts';
import { until } from '../../support/until.ts';
import { createWorkbench, indicesOf, tablesOf, type Workbench } from '../../support/workbench.ts';

let proxy: TcpProxy;
let bench: Workbench;

beforeEach(async () => {
  proxy = await startProxy(elasticsearchUrl);
  bench = await createWorkbench('full', { elasticsearchUrl: proxy.url(elasticsearchUrl) });
});
afterEach(async () => {
  proxy.up();
  await bench.close();
  await proxy.close();
});

/** Takes Elasticsearch away when it has taken rows of the next index. */
function downWhileIndexing(): void {
  const { diagnostic } = bench.tools.elasticsearch!;
  const down = (_error: unknown, result: DiagnosticResult | null) => {
    if (!result?.meta.request.params.path.endsWith('/_bulk')) return;
    diagnostic.off('response', down);
    proxy.down();
  };
  diagnostic.on('response', down);
}

/** Takes Elasticsearch away at each n-th list of the indices. A command lists them before its change and after it. */
function downAtList(n: number): void {
  const { indices } = bench.tools.elasticsearch!;
  const list = indices.get.bind(indices) as (...args: unknown[]) => Promise<unknown>;
  let lists = 0;
  const get = (...args: unknown[]) => {
    lists += 1;
    if (lists % n === 0) proxy.down();
    return list(...args);
  };
  Object.assign(indices, { get });
}

const CLOSED = "Elasticsearch doesn't answer as it should: the connection was closed without a whole answer";
const CHECK = 'check ELASTICSEARCH_URL and the server';

test.each<[moment: string, down: () => void]>([
  ['from the start', () => proxy.down()],
  ['while leftovers are cleared away', () => downAtList(1)],
  ['halfway', downWhileIndexing],
])(
  'Elasticsearch gone %s: one line, nothing has changed anywhere, and the next import works',
  async (_, down) => {
    await bench.importText(csv(0, 10));
    const { indices } = bench.tools.elasticsearch!;
    const list = indices.get;
    const stateOf = async () => [await bench.status(), await indicesOf(bench), await tablesOf(bench)];
    const [rows, before] = [await bench.rows(), await stateOf()];
    const text = csv(0, 50, (n) => `Nova ${n}`);
    for (const run of [() => bench.importText(text), () => bench.importText(text), bench.rebuild]) {
      down();
      await expect(run()).rejects.toThrow(`${CLOSED}: nothing has changed; ${CHECK}`);
      Object.assign(indices, { get: list });
      proxy.up();
      // It removes what the run has left.
      expect(await checkDirectory(bench.tools)).toEqual({ warning: null });
      expect([await bench.rows(), await stateOf()]).toEqual([rows, before]);
      expect(await bench.search('empresa')).toHaveLength(10);
    }
    expect(await bench.importText(text)).toMatchObject({ imported: 50 });
    expect(await bench.search('nova 49')).toEqual([`${nif(49)} Nova 49`]);
    expect((await bench.rollback()).documents).toBe(10);
  },
);

test('a lost index: the check says so, and the same file again builds it', async () => {
  const { index } = await bench.importText(csv(0, 10));
  await bench.tools.elasticsearch!.indices.delete({ index });
  expect((await checkDirectory(bench.tools)).warning).toBe('there is no search index: run "index rebuild"');
  expect(await bench.importText(csv(0, 10))).toMatchObject({ imported: 0, unchanged: 10 });
  expect(await checkDirectory(bench.tools)).toEqual({ warning: null });
  expect(await bench.search('empresa')).toHaveLength(10);
});

test('Elasticsearch gone right behind the change: the change is done, and no command says otherwise', async () => {
  const first = await bench.importText(csv(0, 10));
  downAtList(2);
  const after = async <T>(change: Promise<T>) => {
    const outcome = await change;
    proxy.up();
    return outcome;
  };
  const { index } = await after(bench.importText(csv(0, 20)));
  expect(await bench.status()).toEqual({ index, previous: first.index, documents: 20 });
  const rebuilt = await after(bench.rebuild());
  expect(await bench.status()).toEqual({ ...rebuilt, previous: first.index, documents: 20 });
  await after(bench.rollback());
  expect(await bench.status()).toEqual({ index: first.index, previous: null, documents: 10 });
});

/** Elasticsearch behind a server that does `before` when the next index is to be made. */
function startBefore(before: () => Promise<void>) {
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      if (request.method === 'PUT' && pathname.startsWith(`/${bench.alias}-`)) await before();
      const { method, headers, body } = request;
      return fetch(elasticsearchUrl + pathname + search, { method, headers, body, decompress: false });
    },
  });
}

test('a failure of Postgres while the index is built is told as one, and the directory stays', async () => {
  await bench.importText(csv(0, 10));
  const before = await bench.status();
  const [indices, tables] = [await indicesOf(bench), await tablesOf(bench)];
  const { sql, url } = bench.database;
  const server = startBefore(async () => {
    // The rest of the import's own statements is done, so the next one reads the pages of the new table.
    await until('the vocabulary', async () => {
      const [idle] = await sql`
        SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle'
          AND application_name LIKE '%import' AND query LIKE 'ANALYZE %vocabulary%'`;
      return idle !== undefined;
    });
    const newest = (await tablesOf(bench)).at(-1)!;
    await sql`ALTER TABLE ${sql(newest)} RENAME COLUMN legal_name TO renamed`;
  });
  const variables = { ELASTICSEARCH_URL: server.url.origin, ELASTICSEARCH_PREFIX: bench.alias };
  const file = await bench.write('next.csv', csv(0, 20));
  const { code, stderr } = await createCommandLine(url, variables).refusal('companies', 'import', file);
  await server.stop(true);
  expect([code, stderr.split('\n').filter((line) => line.startsWith('error: '))]).toEqual([
    1,
    ['error: column "legal_name" does not exist'],
  ]);
  expect(await bench.rows()).toHaveLength(10);
  expect(await bench.status()).toEqual(before);
  expect([await indicesOf(bench), await tablesOf(bench)]).toEqual([indices, tables]);
  await bench.importFile(file);
  expect(await bench.status()).toMatchObject({ previous: before.index, documents: 20 });
});

test('without Elasticsearch a rollback changes nothing', async () => {
  await bench.importText(csv(0, 10));
  proxy.down();
  await expect(bench.rollback()).rejects.toThrow(`${CLOSED}: nothing has changed; ${CHECK}`);
});

test('what answers in its place is named in plain words', async () => {
  const html = { 'content-type': 'text/html' };
  for (const [answer, words] of [
    [() => new Response('<p>Hello', { headers: html }), 'what answers is not Elasticsearch'],
    [() => new Response('<p>Bad gateway', { status: 502, headers: html }), 'it answers HTTP 502'],
  ] as const) {
    const other = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer });
    const elasticsearch = createElasticsearch({
      elasticsearchUrl: other.url.origin,
      elasticsearchApiKey: null,
    });
    const notes: string[] = [];
    const report = statusReport({ ...bench.tools, elasticsearch }, { note: (text) => notes.push(text) });
    const said = await report.then(() => notes.join(), messageOf);
    expect(said).toContain(`Elasticsearch doesn't answer as it should: ${words}: ${CHECK}`);
    await elasticsearch!.close();
    await other.stop(true);
  }
});
