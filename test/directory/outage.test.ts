import { afterEach, beforeEach, expect, test } from 'bun:test';
import { ensureSearchable } from '../../src/directory/ensure.ts';
import { testServers } from '../support/database.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import { createWorkbench, csv, indicesOf, nif, type Workbench } from './support.ts';

let proxy: TcpProxy;
let bench: Workbench;

beforeEach(async () => {
  const { hostname, port } = new URL(testServers().elasticsearchUrl);
  proxy = await startProxy({ host: hostname, port: Number(port) });
  bench = await createWorkbench('full', { elasticsearchUrl: proxy.url(testServers().elasticsearchUrl) });
});
afterEach(async () => {
  proxy.up();
  await bench.close();
  await proxy.close();
});

/** Takes Elasticsearch away as soon as a second index is there. */
async function downWhileIndexing(): Promise<void> {
  const before = (await indicesOf(bench)).length;
  while ((await indicesOf(bench)).length === before) await Bun.sleep(5);
  proxy.down();
}

test('Elasticsearch gone halfway: Postgres goes on, status shows the drift, and a rebuild reconciles them', async () => {
  await bench.importText(csv(0, 10));
  const before = await bench.status();
  const outage = downWhileIndexing();
  await expect(bench.importText(csv(0, 60_000, (n) => `Nova ${n}`))).rejects.toThrow(
    /^the rows are in Postgres, but Elasticsearch failed: .+ run "index rebuild" when Elasticsearch is well$/,
  );
  await outage;
  proxy.up();
  expect(await bench.rows()).toHaveLength(60_000);
  expect(await bench.search('empresa')).toHaveLength(10);
  expect(await bench.status()).toEqual({
    index: before.index,
    previous: before.index,
    documents: 10,
    drift: 60_000,
  });
  expect((await ensureSearchable(bench.tools)).warnings).toEqual([
    'searches don\'t see all of the directory: run "index rebuild"',
  ]);
  const rebuilt = await bench.rebuild();
  expect(rebuilt).toEqual({ index: expect.any(String), previous: before.index, documents: 60_000 });
  expect(await bench.search('nova 59999')).toEqual([`${nif(59_999)} Nova 59999`]);
  expect(await indicesOf(bench)).toEqual([rebuilt.index, before.index].toSorted());
  expect(await bench.rollback()).toEqual({ index: before.index, previous: null, documents: 10 });
});

test('the same file again after Elasticsearch failed brings searches up to date as well', async () => {
  await bench.importText(csv(0, 10));
  const outage = downWhileIndexing();
  const text = csv(0, 60_000, (n) => `Nova ${n}`);
  await expect(bench.importText(text)).rejects.toThrow('the rows are in Postgres');
  await outage;
  proxy.up();
  expect(await bench.importText(text)).toMatchObject({ imported: 0, unchanged: 60_000 });
  const status = await bench.status();
  expect(status).toEqual({ index: expect.any(String), previous: expect.any(String), documents: 60_000 });
  await bench.rollback();
  expect(await bench.rows()).toHaveLength(10);
});

test('Elasticsearch away from the start: nothing changes', async () => {
  await bench.importText(csv(0, 10));
  const before = await bench.status();
  proxy.down();
  for (const run of [() => bench.importText(csv(0, 20)), bench.rebuild, bench.rollback, bench.status]) {
    await expect(run()).rejects.toThrow(
      /^Elasticsearch doesn't answer as it should: .+: nothing has changed$/,
    );
  }
  proxy.up();
  expect(await bench.status()).toEqual(before);
  expect(await bench.rows()).toHaveLength(10);
});
