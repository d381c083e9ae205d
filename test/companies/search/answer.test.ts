/** Answers kept in memory: how many, and when they are given. */
import { beforeEach, expect, test } from 'bun:test';
import { parseMatchQuery } from '../../../src/companies/matches/matches-query.ts';
import { createAnswerCache } from '../../../src/companies/search/answer.ts';
import { parseQuery } from '../../../src/companies/search/search-query.ts';

let asked: number;
let current: number | null;
/** What each generation has. */
const NAMES: Record<number, string> = { 1: 'Azul, Lda', 2: 'Azul Novo, Lda' };
beforeEach(() => {
  asked = 0;
  current = 1;
});

function open(maxBytes = 1_000_000, nameOf = (generation: number) => NAMES[generation]!) {
  const { answering, counts, bytes } = createAnswerCache(maxBytes, { confirmed: () => current });
  const answer = answering({
    async find() {
      asked += 1;
      const generation = current ?? 1;
      return { entries: [{ nif: '500000000', legalName: nameOf(generation) }], generation };
    },
  });
  const ask = async (q: string, parse: typeof parseQuery | typeof parseMatchQuery = parseQuery) => {
    const { data } = JSON.parse(await answer(parse(q))) as { data: { legal_name: string }[] };
    return data[0]!.legal_name;
  };
  return { ask, counts, bytes };
}

test('the cache stays below its bound, lets go of what was used longest ago, and keeps nothing larger than itself', async () => {
  const { ask, counts, bytes } = open(10_000, () => 'x'.repeat(1000));
  for (let number = 0; number < 100; number += 1) {
    await ask(`query ${number}`);
    expect(bytes()).toBeLessThanOrEqual(10_000);
    await ask('query 0');
  }
  expect(counts()).toEqual({ hit: 100, miss: 100 });
  await ask('query 99');
  await ask('query 50');
  expect(counts()).toEqual({ hit: 101, miss: 101 });
  const small = open(1_000, () => 'x'.repeat(1000));
  for (const hit of [0, 0]) {
    await small.ask('azul');
    expect([small.counts().hit, small.bytes()]).toEqual([hit, 0]);
  }
});

test('a query asked again is answered without the directory, by its generation, also after a rollback', async () => {
  const { ask, counts } = open();
  for (const [generation, q] of [
    [1, 'azul'],
    [2, 'AZÚL, Lda.'],
    [1, 'Azul'],
  ] as const) {
    current = generation;
    expect(await ask(q)).toBe(NAMES[generation]!);
  }
  expect([asked, counts().hit]).toEqual([2, 1]);
});

test('a match is not answered by a search of the same text', async () => {
  const { ask, counts } = open();
  await ask('azul');
  await ask('azul', parseMatchQuery);
  await ask('azul', parseMatchQuery);
  expect([asked, counts().hit]).toEqual([2, 1]);
});

test('without a known generation, and for a NIF, the directory is asked', async () => {
  const { ask, counts } = open();
  await ask('azul');
  current = null;
  await ask('azul');
  current = 1;
  await ask('500000000');
  await ask('500000000');
  expect([asked, counts().hit]).toEqual([4, 0]);
  await ask('azul');
  expect([asked, counts().hit]).toEqual([4, 1]);
});
