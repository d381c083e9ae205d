/** Names resolved by Elasticsearch while an import replaces the index, and after one that Elasticsearch failed. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readDirectory } from '../../../src/companies/directory/generations.ts';
import { createElasticsearchReader } from '../../../src/companies/resolve/elasticsearch.ts';
import { resolveNames } from '../../../src/companies/resolve/resolve.ts';
import { withTimeout } from '../../../src/platform/runtime/timeout.ts';
import { SECOND } from '../../../src/platform/units.ts';
import { csv } from '../../support/companies.ts';
import '../../support/modes.ts';
import { createWorkbench, type Workbench } from '../../support/workbench.ts';

const importOf = (mark: string) =>
  bench.importText(
    csv(0, 30, (n) => `Padaria ${mark} ${n % 2 ? 'Norte' : 'Sul'} ${n}`),
    { replace: true },
  );

let bench: Workbench;
beforeAll(async () => {
  bench = await createWorkbench('full');
  await importOf('Antiga');
});
afterAll(() => bench.close());

async function resolve(names: string[], between: (search: number) => Promise<unknown> = async () => {}) {
  const { sql } = bench.database;
  let searches = 0;
  const withReader = createElasticsearchReader(bench.tools.elasticsearch!, sql, 20 * SECOND);
  const resolutions = await withTimeout(
    (bound) =>
      withReader(
        (reader) =>
          resolveNames(
            {
              ...reader,
              async find(reads) {
                await between(searches++);
                return reader.find(reads);
              },
            },
            names,
          ),
        bound,
      ),
    30 * SECOND,
    'the directory',
  );
  const found = resolutions.map(({ candidates }) => candidates.map(({ legalName }) => legalName));
  return { found, searches };
}

test('an index that is removed between the vocabulary and the search is replaced by the one of the new vocabulary', async () => {
  const { found, searches } = await resolve(['Padaria Antigga', 'Padaria Novass'], async (search) => {
    if (search > 0) return;
    // The second import removes the index that the first one has retired.
    await importOf('Nova');
    await importOf('Novas');
  });
  expect(searches).toBe(2);
  expect(found[0]).toEqual([]);
  expect(found[1]![0]).toStartWith('Padaria Novas');
});

test('while the last import has no index, names are resolved by the one before, as searches are', async () => {
  await importOf('Velha');
  const { current } = await readDirectory(bench.database.sql);
  await importOf('Recente');
  await bench.database.sql`UPDATE directory_generations SET index_name = NULL WHERE id <> ${current.id}`;
  const { found } = await resolve(['Padaria Velha 7', 'Padaria Recente 7']);
  expect(found[0]![0]).toBe('Padaria Velha Norte 7');
  expect(JSON.stringify(found[1])).not.toContain('Recente');
});
