/** What several queries of one request ask of the directory. */
import { expect, test } from 'bun:test';
import { createMatchListHandler } from '../../../src/companies/matches/list.ts';
import { openMatches } from '../../../src/companies/matches/open.ts';
import type { MatchQuery } from '../../../src/companies/matches/query.ts';
import { answerDirectly } from '../../../src/companies/search/answer.ts';
import { NOTHING_FOUND } from '../../../src/companies/search/search.ts';
import type { Sql } from '../../../src/platform/postgres/connect.ts';
import { nif } from '../../support/companies.ts';
import { runHandler } from '../../support/handler.ts';

test('of NIFs among several queries the search gets few at a time, so that other searches do not queue', async () => {
  let [running, most, asked] = [0, 0, 0];
  const find = async () => {
    asked += 1;
    most = Math.max(most, ++running);
    await Bun.sleep(1);
    running -= 1;
    return NOTHING_FOUND;
  };
  const { matchSeveral } = openMatches(
    { elasticsearchAlias: 'unused' },
    { sql: null as unknown as Sql, elasticsearch: null },
    { search: { find }, answering: answerDirectly },
  );
  const matchList = createMatchListHandler(matchSeveral, { publicUrl: 'http://service' });
  const queries = Array.from({ length: 100 }, (_, n) => nif(n));
  const answers = await Promise.all(Array.from({ length: 3 }, () => runHandler(matchList, { queries })));
  expect(answers.map(({ ok }) => ok)).toEqual([true, true, true]);
  expect([asked, most <= 8]).toEqual([300, true]);
});

test('equal queries of a request are asked once, and each has its answer', async () => {
  const asked: string[] = [];
  const find = async (query: MatchQuery) => {
    asked.push(JSON.stringify(query));
    return JSON.stringify({ data: [], error: null });
  };
  const handler = createMatchListHandler(find, { publicUrl: 'http://service' });
  const queries = ['Azul, Lda', 'azul', 'AZUL', 'azul mar', 'Azul', nif(1), nif(1), ' '];
  const answer = await runHandler(handler, { queries });
  expect(asked).toHaveLength(3);
  const { data } = JSON.parse((answer as { json: string }).json);
  expect(data.map(({ q, status }: { q: string; status: number }) => [q, status])).toEqual(
    queries.map((q) => [q, q === ' ' ? 400 : 200]),
  );
});
