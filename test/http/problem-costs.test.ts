/** The catalogue and docs/api.md say the same about the cost of each problem. */
import { expect, test } from 'bun:test';
import { PROBLEMS_PT } from '../../src/dashboard/reference/problems-pt.ts';
import { PROBLEMS, type ProblemName } from '../../src/http/problems.ts';

const api = await Bun.file(new URL('../../docs/api.md', import.meta.url)).text();
const rows = [...api.matchAll(/^\| \d{3} +\| `([a-z-]+)`.*\| ([a-z ]+?) +\|$/gm)].map(
  ([, kind = '', cost = '']) => [kind as ProblemName, cost] as const,
);

const SAID: Record<string, [english: RegExp, portuguese: RegExp]> = {
  yes: [/The request has cost its credit\.$/, /O pedido custou o seu crédito\.$/],
  'unless its endpoint is free': [
    /The request has cost its credit, unless its endpoint is free\.$/,
    /O pedido custou o seu crédito, salvo numa operação gratuita\.$/,
  ],
  no: [/(Nothing|No credit) was charged\.$/, /(Nada|Nenhum crédito) foi cobrado\.$/],
  'if it came after the admission': [/admitted has cost its credit\.$/, /admitido custou o seu crédito\.$/],
};

test('docs/api.md has a row for each kind', () => {
  expect(rows.map(([kind]) => kind).toSorted()).toEqual(Object.keys(PROBLEMS).toSorted() as ProblemName[]);
});

test.each(rows)('%s: the page of the problem says its cost too, in both languages: %s', (kind, cost) => {
  const [english, portuguese] = SAID[cost]!;
  expect(PROBLEMS[kind].fix).toMatch(english);
  expect(PROBLEMS_PT[kind].fix).toMatch(portuguese);
});
