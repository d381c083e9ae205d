/** A restore of a service with Elasticsearch: the one command that its answer names brings the search index. */
import { afterAll, expect, test } from 'bun:test';
import { createCommandLine } from '../support/command.ts';
import { csv } from '../support/companies.ts';
import { elasticsearchUrl } from '../support/elasticsearch.ts';
import { MODES } from '../support/modes.ts';
import { createWorkbench } from '../support/workbench.ts';

const source = await createWorkbench('full');
afterAll(() => source.close());

test.each([...MODES])(
  'a restored directory is searched as before once its index is rebuilt, %s',
  async (mode) => {
    const target = await createWorkbench(mode);
    await source.importText(csv(0, 300));
    const file = source.path('directory.backup');
    await createCommandLine(source.database.url).json('backup', file);
    const variables = { ELASTICSEARCH_URL: elasticsearchUrl, ELASTICSEARCH_PREFIX: target.alias };
    const { json } = createCommandLine(target.database.url, mode === 'full' ? variables : {});
    const { next } = await json('restore', file);
    expect(next).toBe('index rebuild');
    const status = await json(...next.split(' '));
    expect([status.documents, 'drift' in status]).toEqual([300, false]);
    expect(await target.rows()).toEqual(await source.rows());
    const names = (await source.rows()).map((row) => row.slice(10, 13));
    for (const name of new Set(names)) expect(await target.search(name)).toEqual(await source.search(name));
    await target.close();
  },
);
