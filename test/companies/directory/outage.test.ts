import { afterEach, beforeEach, expect, test } from 'bun:test';
import type { DiagnosticResult } from '@elastic/elasticsearch';
import { ensureSearchable } from '../../../src/companies/directory/startup-check.ts';
import { statusReport } from '../../../src/companies/directory/status.ts';
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

const CLOSED = "Elasticsearch doesn't answer as it should: the connection was closed without a whole answer";
const CHECK = 'check ELASTICSEARCH_URL and the server';

test('Elasticsearch gone halfway: Postgres goes on, status shows the drift, and a rebuild reconciles them', async () => {
  await bench.importText(csv(0, 10));
  const before = await bench.status();
  downWhileIndexing();
  await expect(bench.importText(csv(0, 50, (n) => `Nova ${n}`))).rejects.toThrow(
    /^the rows are in Postgres, but Elasticsearch failed: .+ run "index rebuild" when Elasticsearch is well$/,
  );
  proxy.up();
  expect(await bench.rows()).toHaveLength(50);
  expect(await bench.search('empresa')).toHaveLength(10);
  expect(await bench.status()).toEqual({
    index: before.index,
    previous: before.index,
    documents: 10,
    drift: 50,
  });
  expect((await ensureSearchable(bench.tools)).warnings).toEqual([
    'searches don\'t see all of the directory: run "index rebuild"',
  ]);
  const rebuilt = await bench.rebuild();
  expect(rebuilt).toEqual({ index: expect.any(String), previous: before.index, documents: 50 });
  expect(await bench.search('nova 49')).toEqual([`${nif(49)} Nova 49`]);
  expect(await indicesOf(bench)).toEqual([rebuilt.index, before.index].toSorted());
  expect(await bench.rollback()).toEqual({ index: before.index, previous: null, documents: 10 });
});

test('the same file again after Elasticsearch failed brings searches up to date as well', async () => {
  await bench.importText(csv(0, 10));
  downWhileIndexing();
  const text = csv(0, 50, (n) => `Nova ${n}`);
  await expect(bench.importText(text)).rejects.toThrow('the rows are in Postgres');
  proxy.up();
  expect(await bench.importText(text)).toMatchObject({ imported: 0, unchanged: 50 });
  const status = await bench.status();
  expect(status).toEqual({ index: expect.any(String), previous: expect.any(String), documents: 50 });
  await bench.rollback();
  expect(await bench.rows()).toHaveLength(10);
});

/** Takes Elasticsearch away right before or right after the alias moves. Postgres has the new directory by then. */
function downWithAlias(when: 'before' | 'after'): void {
  const { indices } = bench.tools.elasticsearch!;
  const move = indices.updateAliases.bind(indices) as (...args: unknown[]) => Promise<unknown>;
  const replaced = async (...args: unknown[]) => {
    if (when === 'before') proxy.down();
    const answer = await move(...args);
    proxy.down();
    return answer;
  };
  Object.assign(indices, { updateAliases: replaced });
}

/** The line of a change that Postgres has made, and searches may not see yet. */
function doneBut(change: string): RegExp {
  return new RegExp(
    `^the ${change} is done, but Elasticsearch failed: (?!.*nothing has changed).+: searches follow within 15 s where a` +
      ' server runs, else when one starts; "index status" shows what they go to$',
  );
}

test('the alias not moved: import, rebuild and rollback say that they are done, and a server moves it', async () => {
  await bench.importText(csv(0, 10));
  const first = await bench.status();
  downWithAlias('before');
  const afterOutage = async (work: Promise<unknown>, change: string) => {
    await expect(work).rejects.toThrow(doneBut(change));
    proxy.up();
    return bench.status();
  };

  expect(await afterOutage(bench.importText(csv(0, 20)), 'import')).toMatchObject({
    index: first.index,
    drift: 10,
  });
  expect(await bench.rows()).toHaveLength(20);
  await healed();
  const imported = await bench.status();
  expect(imported).toMatchObject({ previous: first.index, documents: 20 });

  expect(await afterOutage(bench.rebuild(), 'rebuild')).toMatchObject({
    index: imported.index,
    documents: 20,
  });
  await healed();
  expect((await bench.status()).index).not.toBe(imported.index);

  await afterOutage(bench.rollback(), 'rollback');
  expect(await bench.rows()).toHaveLength(10);
  await healed();
  expect(await bench.status()).toEqual({ ...first, previous: null });
  await expect(bench.rollback()).rejects.toThrow(/^there is nothing to return to: no import since/);
});

/** The work of a running server every 15 s, with the alias to be moved as it should. */
async function healed(): Promise<void> {
  const { indices } = bench.tools.elasticsearch! as { indices: { updateAliases?: unknown } };
  const failing = indices.updateAliases;
  delete indices.updateAliases;
  expect(await ensureSearchable(bench.tools)).toEqual({ ok: true, warnings: [] });
  indices.updateAliases = failing;
}

test('a rollback repeated because searches had not followed says that it is finished now', async () => {
  await bench.importText(csv(0, 10));
  const first = await bench.status();
  await bench.importText(csv(0, 20));
  downWithAlias('before');
  await expect(bench.rollback()).rejects.toThrow(doneBut('rollback'));
  proxy.up();
  Reflect.deleteProperty(bench.tools.elasticsearch!.indices, 'updateAliases');
  await expect(bench.rollback()).rejects.toThrow(
    `the change before is finished only now, and searches go to ${first.index}; beyond it there is nothing to return to`,
  );
  expect(await bench.status()).toEqual({ ...first, previous: null });
});

test('Elasticsearch gone right behind the change: no command says that nothing has changed', async () => {
  await bench.importText(csv(0, 10));
  const first = await bench.status();
  downWithAlias('after');
  const { index } = await bench.importText(csv(0, 20));
  proxy.up();
  expect(await bench.status()).toEqual({ index, previous: first.index, documents: 20 });
  for (const [change, run] of [
    ['rebuild', bench.rebuild],
    ['rollback', bench.rollback],
  ] as const) {
    await expect(run()).rejects.toThrow(doneBut(change));
    proxy.up();
  }
  expect(await bench.status()).toEqual({ ...first, previous: null });
});

test('Elasticsearch gone while leftovers are cleared away: one line, and nothing changes', async () => {
  await bench.importText(csv(0, 10));
  const { indices } = bench.tools.elasticsearch!;
  const list = indices.getMapping.bind(indices) as (...args: unknown[]) => Promise<unknown>;
  const replaced = (...args: unknown[]) => {
    proxy.down();
    return list(...args);
  };
  Object.assign(indices, { getMapping: replaced });
  for (const run of [() => bench.importText(csv(0, 20)), bench.rebuild]) {
    await expect(run()).rejects.toThrow(`${CLOSED}: nothing has changed; ${CHECK}`);
    proxy.up();
  }
  expect(await bench.rows()).toHaveLength(10);
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
  const variables = { ELASTICSEARCH_URL: server.url.origin, ELASTICSEARCH_ALIAS: bench.alias };
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

test('Elasticsearch away from the start: nothing changes', async () => {
  await bench.importText(csv(0, 10));
  const before = await bench.status();
  proxy.down();
  for (const run of [() => bench.importText(csv(0, 20)), bench.rebuild, bench.rollback]) {
    await expect(run()).rejects.toThrow(`${CLOSED}: nothing has changed; ${CHECK}`);
  }
  // The command still reports what Postgres knows. It only reads, so its warning does not say that nothing has changed.
  const notes: string[] = [];
  const report = await statusReport(bench.tools, { note: (text) => notes.push(text) });
  expect(notes).toEqual([`warning: ${CLOSED}: ${CHECK}`]);
  expect(report).toMatchObject({
    index: "(Elasticsearch doesn't answer)",
    previous: before.previous,
    documents: null,
    datasets: { directory: { companies: 10 } },
  });
  expect(Object.keys(report)).not.toContain('driftMeans');
  proxy.up();
  expect(await bench.status()).toEqual(before);
  expect(await bench.rows()).toHaveLength(10);
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
