import { expect, test } from 'bun:test';
import { createDebtsHandler, ONE_LIST } from '../../../src/companies/debts/debts-route.ts';
import type { Screened } from '../../../src/companies/debts/debts-store.ts';
import { createGate } from '../../../src/platform/runtime/gate.ts';
import { CALLER, paid, runHandler } from '../../support/handler.ts';
import { until } from '../../support/until.ts';

const NO_DEBTS: Screened = { debts: new Map(), datasets: {} };

/** A handler for lists of one NIF. @param held so many lists are screened when the test says so, the further ones at once */
function setUp(held: number) {
  const screened: PromiseWithResolvers<Screened>[] = [];
  const answered: string[] = [];
  const spent: string[] = [];
  const screen = () => {
    const one = Promise.withResolvers<Screened>();
    if (screened.push(one) > held) one.resolve(NO_DEBTS);
    return one.promise;
  };
  const gate = createGate({ ...ONE_LIST, maxWaitMs: 60_000 });
  const handler = createDebtsHandler({ publicUrl: 'http://service', screen, gate });
  async function ask(accountId: string): Promise<string> {
    const caller = { ...CALLER, accountId };
    const pay = (credits: number) => {
      if (credits > 0) spent.push(accountId);
      return paid(credits);
    };
    const answer = await runHandler(handler, { nifs: ['500002576'] }, { caller, pay });
    answered.push(accountId);
    return answer.ok ? 'ok' : answer.problem.kind;
  }
  const isScreened = (list: number) => until('a list is screened', () => screened.length > list);
  return { screened, answered, spent, ask, isScreened };
}

test('a list is screened after the one before was answered, and accounts take turns', async () => {
  const { screened, answered, ask, isScreened } = setUp(4);
  const all = ['a', 'a', 'a', 'b'].map(ask);
  for (let list = 0; list < 4; list += 1) {
    await isScreened(list);
    expect(screened).toHaveLength(list + 1);
    expect(answered).toHaveLength(list);
    screened[list]!.resolve(NO_DEBTS);
  }
  expect(await Promise.all(all)).toEqual(['ok', 'ok', 'ok', 'ok']);
  expect(answered).toEqual(['a', 'a', 'b', 'a']);
});

test('a list with too many before it is a 503 and spends nothing; those before it are answered', async () => {
  const { screened, spent, ask, isScreened } = setUp(1);
  const first = ask('a');
  await isScreened(0);
  const others = Array.from({ length: ONE_LIST.maxWaiting + 1 }, () => ask('b'));
  expect(await Promise.race(others)).toBe('service-unavailable');
  expect(spent).toEqual([]);
  screened[0]!.resolve(NO_DEBTS);
  expect(await first).toBe('ok');
  const outcomes = await Promise.all(others);
  expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(ONE_LIST.maxWaiting);
  expect(spent).toHaveLength(ONE_LIST.maxWaiting + 1);
});
