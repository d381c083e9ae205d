import { expect, test } from 'bun:test';
import { createDebtsHandler, ONE_LIST } from '../../../src/companies/debts/debts-route.ts';
import type { Screened } from '../../../src/companies/debts/debts-store.ts';
import { createGate } from '../../../src/platform/runtime/gate.ts';
import { CALLER, paid, runHandler } from '../../support/handler.ts';
import { until } from '../../support/until.ts';

test('a list is screened after the one before was answered, and accounts take turns; one with too many before it is a free 503', async () => {
  const screened: PromiseWithResolvers<Screened>[] = [];
  const answered: string[] = [];
  const spent: string[] = [];
  const screen = () => {
    const one = Promise.withResolvers<Screened>();
    screened.push(one);
    return one.promise;
  };
  const gate = createGate({ ...ONE_LIST, maxWaiting: 8, maxWaitMs: 60_000 });
  const handler = createDebtsHandler({ publicUrl: 'http://service', screen, gate });
  async function ask(accountId: string): Promise<string> {
    const pay = (credits: number) => {
      if (credits > 0) spent.push(accountId);
      return paid(credits);
    };
    const given = { caller: { ...CALLER, accountId }, pay };
    const answer = await runHandler(handler, { nifs: ['500002576'] }, given);
    answered.push(accountId);
    return answer.ok ? 'ok' : answer.problem.kind;
  }
  const isScreened = (list: number) => until('a list is screened', () => screened.length > list);
  const all = ['a', 'a', 'a', 'b', ...Array<string>(5).fill('c')].map(ask);
  await isScreened(0);
  expect(screened).toHaveLength(1);
  expect(await Promise.race([...all, ask('c')])).toBe('service-unavailable');
  expect([answered.splice(0), spent]).toEqual([['c'], []]);
  for (const list of all.keys()) {
    await isScreened(list);
    expect([screened.length, answered.length]).toEqual([list + 1, list]);
    screened[list]!.resolve({ debts: new Map(), datasets: {} });
  }
  expect(await Promise.all(all)).toEqual(all.map(() => 'ok'));
  expect(answered.slice(0, 6)).toEqual(['a', 'a', 'b', 'c', 'a', 'c']);
  expect(spent).toEqual(answered);
});
