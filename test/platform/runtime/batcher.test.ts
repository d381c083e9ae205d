/** Batches, and the limits of time that bound them and other work. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { type BatchOptions, createBatcher } from '../../../src/platform/runtime/batcher.ts';
import { OverloadedError, withTimeout } from '../../../src/platform/runtime/timeout.ts';
import { stopClock } from '../../support/stopped-clock.ts';
import { eventually } from '../../support/until.ts';

let clock: ReturnType<typeof stopClock>;
beforeEach(() => {
  clock = stopClock();
});
afterEach(() => clock.restore());

/** A batcher of numbers that are answered by their doubles, when the test says so. */
function doubling(options: Partial<BatchOptions> = {}) {
  const runs: { items: number[]; finish(): void; fail(error: Error): void }[] = [];
  const ask = createBatcher<number, number>(
    (items) =>
      new Promise((resolve, reject) => {
        runs.push({ items, finish: () => resolve(items.map((item) => item * 2)), fail: reject });
      }),
    { name: 'the doubler', ...options },
  );
  return { ask, runs, sizes: () => runs.map(({ items }) => items.length) };
}

/** Resolves once the next run has begun, which is at the end of the turn after the one in which a run ended. */
const turn = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));

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
  const { ask, runs, sizes } = doubling({ maxBatch: 1, maxConcurrentBatches: 2 });
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

test('an item that queued too long fails instead of starting, and one that has started waits for its batch', async () => {
  const { ask, runs, sizes } = doubling({ queueTimeoutMs: 500 });
  const started = ask(0);
  await turn();
  const stale = ask(1);
  clock.pass(501);
  const fresh = ask(2);
  runs[0]!.finish();
  expect(await started).toBe(0);
  await expect(stale).rejects.toThrow(OverloadedError);
  await turn();
  expect(sizes()).toEqual([1, 1]);
  runs[1]!.finish();
  expect(await fresh).toBe(4);
});

test('in a long turn of the event loop, an item that comes later starts the batch', async () => {
  const { ask, runs, sizes } = doubling();
  const first = ask(1);
  const second = ask(2);
  expect(sizes()).toEqual([]);
  clock.pass(11);
  const third = ask(3);
  expect(sizes()).toEqual([3]);
  runs[0]!.finish();
  expect([await first, await second, await third]).toEqual([2, 4, 6]);
});

test('in a long turn of the event loop, the end of a batch starts the next one, also if no item comes later', async () => {
  const { ask, runs, sizes } = doubling();
  const first = ask(1);
  await turn();
  const second = ask(2);
  let hasTurnEnded = false;
  setImmediate(() => {
    hasTurnEnded = true;
  });
  clock.pass(11);
  runs[0]!.finish();
  expect(await first).toBe(2);
  expect({ sizes: sizes(), hasTurnEnded }).toEqual({ sizes: [1, 1], hasTurnEnded: false });
  runs[1]!.finish();
  expect(await second).toBe(4);
});

test('a run that fails fails all its items and no others, and the next one waits until their callers have seen it', async () => {
  const { ask, runs, sizes } = doubling();
  const failing = Promise.allSettled([1, 2].map(ask));
  await turn();
  const next = ask(3);
  clock.pass(11);
  runs[0]!.fail(new Error('away'));
  const reason = expect.objectContaining({ message: 'away' });
  expect(await failing).toEqual(Array(2).fill({ status: 'rejected', reason }));
  expect(sizes()).toEqual([2]);
  await turn();
  runs[1]!.finish();
  expect(await next).toBe(6);
});

test('a full batch starts at once', async () => {
  const { ask, runs, sizes } = doubling({ maxBatch: 2 });
  const answers = [ask(1), ask(2), ask(3)];
  expect(sizes()).toEqual([2]);
  runs[0]!.finish();
  expect(await answers[0]).toBe(2);
  await turn();
  runs[1]!.finish();
  expect(await Promise.all(answers)).toEqual([2, 4, 6]);
});

test('a batch that gets no answer fails all of its items at its timeout, and the next one starts', async () => {
  const runs: number[][] = [];
  const ask = createBatcher<number, number>(
    (items) => {
      runs.push(items);
      return items[0] === 0 ? new Promise(() => {}) : Promise.resolve(items);
    },
    { name: 'the doubler', timeoutMs: 20, queueTimeoutMs: 60_000 },
  );
  const failing = Promise.allSettled([0, 1].map(ask));
  await turn();
  const next = ask(2);
  const reason = expect.objectContaining({ message: 'the doubler did not answer within 20 ms' });
  expect(await failing).toEqual(Array(2).fill({ status: 'rejected', reason }));
  expect(await next).toBe(2);
  expect(runs).toEqual([[0, 1], [2]]);
});

/** A query of postgres.js that is never answered; `state` is null until it is sent. */
function unanswered(state: object | null) {
  const query = Object.assign(new Promise<never>(() => {}), {
    state,
    cancelled: 0,
    cancel: () => {
      query.cancelled += 1;
    },
  });
  return query;
}

test('all queries of a run fail at its deadline, and a query that comes later fails, too', async () => {
  const [sent, unsent, late] = [unanswered({}), unanswered(null), unanswered({})];
  const failures: string[] = [];
  const run = withTimeout(
    async (bound) => {
      for (const outcome of await Promise.allSettled([bound(sent), bound(unsent)])) {
        failures.push((outcome as PromiseRejectedResult).reason.message);
      }
      await bound(late).catch((error) => failures.push(error.message));
    },
    20,
    'the server',
  );
  const message = 'the server did not answer within 20 ms';
  await expect(run).rejects.toThrow(message);
  await eventually(async () => failures, [message, message, message]);
  expect([sent.cancelled, unsent.cancelled]).toEqual([0, 1]);
});

test('an answer that arrived while the process was busy is in time', async () => {
  const answer = withTimeout(Bun.sleep(10), 30, 'a moment');
  Bun.sleepSync(50);
  await answer;
});

test('a process that is too busy to notice the timeout says that it is overloaded', async () => {
  const answer = withTimeout(unanswered({}), 20, 'the server');
  clock.pass(20 + 251);
  await expect(answer).rejects.toThrow(OverloadedError);
});
