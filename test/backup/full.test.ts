/** A restore with Elasticsearch: the one command that its answer names brings the search index. */
import { afterAll, expect, test } from 'bun:test';
import { createCommandLine } from '../support/command.ts';
import { csv } from '../support/companies.ts';
import { elasticsearchUrl } from '../support/elasticsearch.ts';
import { createWorkbench } from '../support/workbench.ts';

const [source, target] = [await createWorkbench('full'), await createWorkbench('full')];
afterAll(async () => {
  await source.close();
  await target.close();
});

test('a restored directory is searched as before once its index is rebuilt', async () => {
  await source.importText(csv(0, 300));
  const file = source.path('directory.backup');
  await createCommandLine(source.database.url).json('backup', file);
  const { json } = createCommandLine(target.database.url, {
    ELASTICSEARCH_URL: elasticsearchUrl,
    ELASTICSEARCH_PREFIX: target.alias,
  });
  const { next } = await json('restore', file);
  expect(next).toBe('index rebuild');
  const status = await json(...next.split(' '));
  expect([status.documents, 'drift' in status]).toEqual([300, false]);
  expect(await target.rows()).toEqual(await source.rows());
  const names = (await source.rows()).map((row) => row.slice(10, 13));
  for (const name of new Set(names)) expect(await target.search(name)).toEqual(await source.search(name));
});
