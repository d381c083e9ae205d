/** Names resolved by Elasticsearch while an import replaces the index, and without an index. */
import { afterAll, expect, test } from 'bun:test';
import { resolveNames } from '../../../src/companies/resolve/resolve.ts';
import { NoIndexError } from '../../../src/companies/search/elasticsearch-store.ts';
import { csv } from '../../support/companies.ts';
import '../../support/modes.ts';
import { readerOf } from '../../support/search-entries.ts';
import { createWorkbench } from '../../support/workbench.ts';

const importOf = (mark: string) =>
  bench.importText(
    csv(0, 30, (n) => `Padaria ${mark} ${n % 2 ? 'Norte' : 'Sul'} ${n}`),
    { replace: true },
  );

const bench = await createWorkbench('full');
await importOf('Antiga');
afterAll(() => bench.close());

async function resolve(names: string[], between: (search: number) => Promise<unknown> = async () => {}) {
  const { sql } = bench.database;
  let searches = 0;
  const client = bench.tools.elasticsearch!;
  const withReader = readerOf(sql, client);
  const resolutions = await withReader((reader) =>
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

test('without an index no name is resolved, and none is said to be unknown', async () => {
  const { index } = await bench.status();
  await bench.tools.elasticsearch!.indices.delete({ index });
  await expect(resolve(['Padaria Novas 7'])).rejects.toBeInstanceOf(NoIndexError);
});
