import { describe, expect, test } from 'bun:test';
import type { SearchEntry } from '../../../src/companies/search/document.ts';
import { csv, nif } from '../../support/companies.ts';
import { MODES } from '../../support/modes.ts';
import { searchEntries, searchOf } from '../../support/search-entries.ts';
import { until } from '../../support/until.ts';
import { createWorkbench } from '../../support/workbench.ts';
import { createSearchOracle } from '../oracles.ts';

const CLIENTS = 4;
const QUERIES = [
  'alfa',
  'alfa b',
  'beta',
  'b',
  nif(3),
  nif(250),
  'alfa beta gama delta epsilon zeta',
  'nada',
];

type Names = Map<number, string>;

/** Names with many equal ones, so that an answer's exact and other matches would show a mixture of two directories. */
function directory(from: number, to: number, shift: number): Names {
  const forms = [
    'Alfa, Lda',
    'Alfa',
    'Alfa Beta',
    'Beta',
    'Alfa Beta Gama Delta Epsilon Zeta Eta, S.A.',
    'Bravo',
  ];
  const names: Names = new Map();
  for (let n = from; n < to; n++) names.set(n, `${forms[(n + shift) % forms.length]!}`);
  return names;
}

const toCsv = (names: Names) => {
  const header = csv(0, 0);
  return header + [...names].map(([n, name]) => `${nif(n)},"${name}"\n`).join('');
};

const answersOf = (names: Names) => {
  const oracle = createSearchOracle([...names].map(([n, legalName]) => ({ nif: nif(n), legalName })));
  return new Map(QUERIES.map((q) => [q, JSON.stringify(oracle(q).map(entryText))]));
};
const entryText = ({ nif, legalName }: SearchEntry) => `${nif} ${legalName}`;

for (const mode of MODES) {
  describe(`searches while the directory changes, ${mode}`, () => {
    test('every answer is the old or the new one as a whole, through imports, rebuilds and rollbacks', async () => {
      const bench = await createWorkbench(mode);
      const { elasticsearch, sql } = bench.tools;
      // As every instance of the service does it: each client with its own search.
      const open = () => (elasticsearch === null ? searchOf(sql) : searchOf(sql, elasticsearch));
      const first = directory(0, 300, 0);
      const second = directory(20, 320, 1);
      const third: Names = new Map([...second, ...directory(320, 330, 4), [25, 'Beta Nova']]);
      await bench.importText(toCsv(first));

      let allowed = [answersOf(first)];
      let stopped = false;
      let searches = 0;
      const strange: string[] = [];
      const client = async (seed: number) => {
        const search = open();
        for (let i = seed; !stopped; i++) {
          const q = QUERIES[i % QUERIES.length]!;
          const before = allowed;
          try {
            const answer = JSON.stringify((await searchEntries(search, q)).map(entryText));
            searches++;
            // The change may have come while it was asked.
            if (![...before, ...allowed].some((answers) => answers.get(q) === answer)) {
              strange.push(`${q}: ${answer}`);
            }
          } catch (error) {
            strange.push(`${q}: ${error}`);
          }
          await Bun.sleep(20); // leaves Elasticsearch most of the machine
        }
      };
      const clients = Array.from({ length: CLIENTS }, (_, seed) => client(seed * 3));
      const change = async (to: Names, run: () => Promise<unknown>) => {
        const next = answersOf(to);
        allowed = [...allowed, next];
        await run();
        allowed = [next];
        const before = searches;
        await until('searches of this directory', () => searches >= before + 5 * CLIENTS);
      };
      try {
        await change(second, () => bench.importText(toCsv(second), { replace: true }));
        await change(second, () => bench.rebuild());
        // A small change.
        await change(third, () =>
          bench.importText(toCsv(new Map([...directory(320, 330, 4), [25, 'Beta Nova']]))),
        );
        await change(second, () => bench.rollback());
      } finally {
        stopped = true;
        await Promise.all(clients);
        await bench.close();
      }
      expect(strange).toEqual([]);
    });
  });
}
