import { expect, test } from 'bun:test';
import type { SearchEntry } from '../../../src/companies/search/document.ts';
import { csv, nif } from '../../support/companies.ts';
import { MODES } from '../../support/modes.ts';
import { searchEntries, searchOf } from '../../support/search-entries.ts';
import { until } from '../../support/until.ts';
import { createWorkbench } from '../../support/workbench.ts';
import { createSearchOracle } from '../oracles.ts';

const CLIENTS = 4;
const LONG = 'Alfa Beta Gama Delta Epsilon Zeta';
const QUERIES = [...['alfa', 'alfa b', 'beta', 'b', LONG, 'nada'], nif(3), nif(250)];

/** Many equal names, so that an answer's exact and other matches would show a mixture of two directories. */
const FORMS = ['Alfa, Lda', 'Alfa', 'Alfa Beta', 'Beta', `${LONG} Eta, S.A.`, 'Bravo'];
const directory = (from: number, to: number, shift: number): SearchEntry[] =>
  Array.from({ length: to - from }, (_, at) => ({
    nif: nif(from + at),
    legalName: FORMS[(from + at + shift) % FORMS.length]!,
  }));

const toCsv = (entries: SearchEntry[]) =>
  csv(0, 0) + entries.map(({ nif, legalName }) => `${nif},"${legalName}"\n`).join('');

/** The right answer to each query, as text. */
const answersOf = (entries: SearchEntry[]) => {
  const oracle = createSearchOracle(entries);
  return new Map(QUERIES.map((q) => [q, JSON.stringify(oracle(q))]));
};

test.each(MODES)(
  'every answer is the old or the new one as a whole, through imports, rebuilds and rollbacks, %s',
  async (mode) => {
    await using bench = await createWorkbench(mode);
    const { elasticsearch, sql } = bench.tools;
    const first = directory(0, 300, 0);
    const second = directory(20, 320, 1);
    const small = [...directory(320, 330, 4), { nif: nif(25), legalName: 'Beta Nova' }];
    const third = [...second.filter((entry) => entry.nif !== nif(25)), ...small];
    await bench.importText(toCsv(first));

    let allowed = [answersOf(first)];
    let stopped = false;
    let searches = 0;
    const strange: string[] = [];
    const client = async (seed: number) => {
      // As every instance of the service does it: each client with its own search.
      const search = searchOf(sql, elasticsearch);
      for (let i = seed; !stopped; i++) {
        const q = QUERIES[i % QUERIES.length]!;
        const before = allowed;
        try {
          const answer = JSON.stringify(await searchEntries(search, q));
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
    const change = async (to: SearchEntry[], run: () => Promise<unknown>) => {
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
      await change(third, () => bench.importText(toCsv(small)));
      await change(second, () => bench.rollback());
    } finally {
      stopped = true;
      await Promise.all(clients);
    }
    expect(strange).toEqual([]);
  },
);
