import { afterEach, describe, expect, test } from 'bun:test';
import { countMessages, killCommandAt } from '../../support/command.ts';
import { csv, nif } from '../../support/companies.ts';
import { elasticsearchUrl } from '../../support/elasticsearch.ts';
import { MODES } from '../../support/modes.ts';
import {
  createWorkbench,
  indicesOf,
  tablesOf,
  vocabulariesOf,
  type Workbench,
} from '../../support/workbench.ts';

/** Moments at which a process is killed. */
const ROUNDS = 9;
const ROWS = 1_000;

const COLUMNS = 'nif=id,legal_name=is.named';

const env = ({ database, alias, mode }: Workbench) => ({
  DATABASE_URL: database.url,
  ...(mode === 'full' ? { ELASTICSEARCH_URL: elasticsearchUrl, ELASTICSEARCH_PREFIX: alias } : {}),
});

for (const mode of MODES) {
  describe(`kill -9, ${mode}`, () => {
    let bench: Workbench;
    afterEach(() => bench.close());

    test('leaves readers with a whole directory at any moment, and the next run cleans up and succeeds', async () => {
      bench = await createWorkbench(mode);
      const file = (name: string) =>
        bench.write(
          `${name}.csv`,
          csv(0, ROWS, (n) => `${name} ${n}`),
        );
      // JSON Lines under other names, as public datasets have them.
      const lines = (name: string) =>
        bench.write(
          `${name}.jsonl`,
          Array.from(
            { length: ROWS },
            (_, n) => `${JSON.stringify({ id: nif(n), is: { named: `${name} ${n}` } })}\n`,
          ).join(''),
        );
      const ways: ((next: string) => Promise<string[]>)[] = [
        async (next) => ['companies', 'import', await lines(next), '--columns', COLUMNS],
        async () => ['index', 'rebuild'],
        async (next) => ['companies', 'import', await file(next)],
      ];
      await bench.importFile(await file('Primeira'));
      const totals: number[] = [];
      for (const way of ways) totals.push(await countMessages(env(bench), ...(await way('Medida'))));
      const names = ['Medida'];

      for (let round = 0; round < ROUNDS; round++) {
        const next = `Volta${round}`;
        const way = round % ways.length;
        const moment = { fraction: round / ROUNDS, total: totals[way]! };
        await killCommandAt(moment, env(bench), ...(await ways[way]!(next)));
        // The search finds the twenty names of one directory and none of another: the one before the run, or that of the run.
        names.push(next);
        const found = await Promise.all(names.map((name) => bench.search(name)));
        expect(found.map((hits) => hits.length).filter((hits) => hits > 0)).toEqual([20]);
        // No directory comes back.
        names.splice(
          0,
          found.findIndex((hits) => hits.length > 0),
        );
      }
      const { imported } = await bench.importFile(await file('Última'));
      expect(imported).toBe(ROWS);
      expect(await bench.search('Última')).toHaveLength(20);
      const tables = await tablesOf(bench);
      expect(tables).toHaveLength(2);
      expect(await vocabulariesOf(bench)).toEqual(tables.map((table) => `${table}_vocabulary`));
      const { index, previous, documents } = await bench.status();
      expect(documents).toBe(ROWS);
      if (mode === 'full') expect(await indicesOf(bench)).toEqual([index, previous!].toSorted());
    });
  });
}
