/** How often a query is asked while an index is removed. */
import { afterAll, expect, test } from 'bun:test';
import { SearchError } from '../../../src/companies/search/hits.ts';
import { createRounds, type RoundOutcome } from '../../../src/companies/search/rounds.ts';
import { createElasticsearch } from '../../../src/platform/elasticsearch/client.ts';

const client = createElasticsearch({
  elasticsearchUrl: 'http://127.0.0.1:9', // nothing is sent
  elasticsearchApiKey: null,
})!;
afterAll(() => client.close());

const removed = new SearchError(503, 'search_phase_execution_exception');
const refused = new SearchError(429, 'es_rejected_execution_exception');
const found = { entries: [], index: 'companies-2' };

/** Asks queries of one batch, each of which has an outcome in each round. @returns the answers, and the queries of each round */
async function ask(queries: RoundOutcome[][]) {
  const rounds: number[][] = [];
  const find = createRounds(client, { name: 'the test' }, async (open: RoundOutcome[][], _send, round) => {
    rounds.push(open.map((outcomes) => queries.indexOf(outcomes)));
    return open.map((outcomes) => outcomes[round]!);
  });
  const answers = await Promise.all(queries.map((query) => find(query).catch((error: Error) => error)));
  return { answers, rounds };
}

test('a query that fails, because an import removes its index, is asked once more; its neighbours are not', async () => {
  expect(await ask([[removed, found], [found], [removed, removed]])).toEqual({
    answers: [found, found, removed],
    rounds: [
      [0, 1, 2],
      [0, 2],
    ],
  });
});

test('a query may fail once between rounds in which the alias moves', async () => {
  expect((await ask([['again', removed, 'again', found]])).answers).toEqual([found]);
  expect((await ask([['again', removed, 'again', removed]])).answers).toEqual([removed]);
});

test('a query that Elasticsearch has no room for is not asked again', async () => {
  expect(await ask([[refused]])).toEqual({ answers: [refused], rounds: [[0]] });
});

test('an alias that never stands still fails the query after four rounds', async () => {
  const { answers, rounds } = await ask([['again', 'again', 'again', 'again']]);
  expect(answers[0]).toEqual(new Error('the alias kept moving'));
  expect(rounds).toHaveLength(4);
});
