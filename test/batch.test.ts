import { expect, test } from 'bun:test';
import { type BatchOptions, beginOverdueRuns, createBatcher } from '../src/batch.ts';
import { DeadlineError, OverloadedError } from '../src/deadline.ts';

/** A batcher of numbers that are answered by their doubles, when the test says so. */
function doubling(options: Partial<BatchOptions<number>> = {}) {
  const runs: { items: number[]; finish(): void; fail(error: Error): void }[] = [];
  const ask = createBatcher<number, number>(
    (items) =>
      new Promise((resolve, reject) => {
        runs.push({ items, finish: () => resolve(items.map((item) => item * 2)), fail: reject });
      }),
    { maxBatch: 100, maxRuns: 1, maxWaiting: 1000, timeoutMs: 1000, what: 'the doubler', ...options },
  );
  return { ask, runs, sizes: () => runs.map(({ items }) => items.length) };
}

/** Until what was set off has begun: a run that has ended begins the next one at the end of the turn after it. */
const turn = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));

test('what is asked in one turn shares a run, and each gets its own answer', async () => {
  const { ask, runs } = doubling();
  const answers = Promise.all([1, 2, 3].map(ask));
  await turn();
  expect(runs.map(({ items }) => items)).toEqual([[1, 2, 3]]);
  runs[0]!.finish();
  expect(await answers).toEqual([2, 4, 6]);
});

test('one that comes alone waits for no company', async () => {
  const { ask, runs } = doubling();
  const answer = ask(1);
  await turn();
  expect(runs).toHaveLength(1);
  runs[0]!.finish();
  expect(await answer).toBe(2);
});

test('what comes during a run gathers for the next, in runs of bounded size', async () => {
  const { ask, runs, sizes } = doubling({ maxBatch: 2 });
  const first = ask(0);
  await turn();
  const rest = Promise.all([1, 2, 3].map(ask));
  await turn();
  expect(sizes()).toEqual([1]);
  for (let done = 0; done < 3; done += 1) {
    runs[done]!.finish();
    await turn();
  }
  expect(sizes()).toEqual([1, 2, 1]);
  expect([await first, ...(await rest)]).toEqual([0, 2, 4, 6]);
});

test('as many runs are under way at once as may be', async () => {
  const { ask, runs, sizes } = doubling({ maxBatch: 1, maxRuns: 2 });
  const answers = Promise.all([1, 2, 3].map(ask));
  await turn();
  expect(sizes()).toEqual([1, 1]);
  runs[1]!.finish();
  await turn();
  expect(sizes()).toEqual([1, 1, 1]);
  runs[0]!.finish();
  runs[2]!.finish();
  expect(await answers).toEqual([2, 4, 6]);
});

test('a run that fails fails all of its own, and nobody else', async () => {
  const { ask, runs } = doubling();
  const failing = Promise.allSettled([1, 2].map(ask));
  await turn();
  const next = ask(3);
  runs[0]!.fail(new Error('no'));
  expect((await failing).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await turn();
  runs[1]!.finish();
  expect(await next).toBe(6);
});

test('what does not fit is refused at once', async () => {
  const { ask, runs } = doubling({ maxWaiting: 2 });
  const first = ask(0);
  await turn();
  const waiting = Promise.all([ask(1), ask(2)]);
  await expect(ask(3)).rejects.toThrow(OverloadedError);
  runs[0]!.finish();
  await turn();
  runs[1]!.finish();
  expect([await first, ...(await waiting)]).toEqual([0, 2, 4]);
});

test('whoever has waited too long is told, in a run or before it, and what still waited is not run any more', async () => {
  const { ask, runs, sizes } = doubling({ timeoutMs: 20 });
  const inRun = ask(0);
  await turn();
  const waiting = ask(1);
  const late = { status: 'rejected', reason: new DeadlineError('the doubler', 20) };
  expect(await Promise.allSettled([inRun, waiting])).toEqual([late, late] as never);
  const next = ask(2);
  runs[0]!.finish();
  await turn();
  expect(sizes()).toEqual([1, 1]);
  runs[1]!.finish();
  expect(await next).toBe(4);
});

test('each has its own time, counted from when it came, which may be before it came here', async () => {
  const startMs = performance.now();
  const { ask, runs } = doubling({ timeoutMs: 100, sinceMsOf: (item) => startMs - item });
  const told: string[] = [];
  const tell = (name: string) => () => void told.push(name);
  const settled = Promise.all([ask(0).catch(tell('came now')), ask(60).catch(tell('came before'))]);
  await Bun.sleep(70);
  expect(told).toEqual(['came before']);
  await settled;
  expect(told).toEqual(['came before', 'came now']);
  expect(runs).toHaveLength(1);
});

test('an answer that lay there while the process was busy is in time', async () => {
  const afterAMoment = async (items: number[]) => {
    await Bun.sleep(10);
    return items;
  };
  const ask = createBatcher(afterAMoment, {
    maxBatch: 1,
    maxRuns: 1,
    maxWaiting: 1,
    timeoutMs: 30,
    what: 'a moment',
  });
  const answer = ask(1);
  await turn();
  const startMs = performance.now();
  while (performance.now() - startMs < 50);
  expect(await answer).toBe(1);
});

test('where the process was too busy to tell in time, it is overloaded, and not whoever was asked', async () => {
  const { ask } = doubling({ timeoutMs: 20 });
  const answer = ask(1);
  await turn();
  const startMs = performance.now();
  while (performance.now() - startMs < 400);
  await expect(answer).rejects.toThrow(OverloadedError);
});

test('in a long turn a run begins when somebody comes by, and not at the end of the turn', async () => {
  const { ask, runs, sizes } = doubling();
  const first = ask(1);
  beginOverdueRuns();
  // The turn has only just begun: what else is in it still comes along.
  expect(sizes()).toEqual([]);
  const second = ask(2);
  const startMs = performance.now();
  while (performance.now() - startMs < 20);
  beginOverdueRuns();
  expect(sizes()).toEqual([2]);
  const third = ask(3);
  runs[0]!.finish();
  expect([await first, await second]).toEqual([2, 4]);
  await turn();
  expect(sizes()).toEqual([2, 1]);
  runs[1]!.finish();
  expect(await third).toBe(6);
});
