import { afterEach, beforeEach, expect, jest, test } from 'bun:test';
import { startInterval } from '../../../src/platform/runtime/interval.ts';

const EVERY_MS = 1000;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** A task whose runs end when the test says so. */
function createTask() {
  const finish: (() => void)[] = [];
  const task = () => new Promise<void>((resolve) => finish.push(resolve));
  return { task, finish, begun: () => finish.length };
}

/** Resolves once the code behind an `await` of a settled promise has run. */
const turn = async () => {
  for (let step = 0; step < 10; step += 1) await Promise.resolve();
};

test('a task is run every so often, and not again while it is under way', async () => {
  const { task, finish, begun } = createTask();
  startInterval(task, EVERY_MS);
  expect(begun()).toBe(0);
  jest.advanceTimersByTime(EVERY_MS);
  expect(begun()).toBe(1);
  jest.advanceTimersByTime(3 * EVERY_MS);
  expect(begun()).toBe(1);
  finish[0]!();
  await turn();
  jest.advanceTimersByTime(EVERY_MS);
  expect(begun()).toBe(2);
});

test('a run that is asked for shares the one that is under way', async () => {
  const { task, finish, begun } = createTask();
  const { run } = startInterval(task, EVERY_MS);
  const [first, second] = [run(), run()];
  expect(begun()).toBe(1);
  finish[0]!();
  await Promise.all([first, second]);
  void run();
  expect(begun()).toBe(2);
});

test('a stop waits for the run that is under way, and none begins after it', async () => {
  const { task, finish, begun } = createTask();
  const { stop } = startInterval(task, EVERY_MS);
  jest.advanceTimersByTime(EVERY_MS);
  let hasStopped = false;
  const stopped = stop().then(() => {
    hasStopped = true;
  });
  await turn();
  expect(hasStopped).toBe(false);
  finish[0]!();
  await stopped;
  jest.advanceTimersByTime(5 * EVERY_MS);
  expect(begun()).toBe(1);
});

test('an outage is reported once, when it begins', async () => {
  const failures: unknown[] = [];
  let isAway = false;
  const task = async () => {
    if (isAway) throw new Error('away');
  };
  const { run } = startInterval(task, EVERY_MS, (error) => failures.push(error));
  for (const away of [false, true, true, false, true]) {
    isAway = away;
    await run();
  }
  expect(failures).toEqual([new Error('away'), new Error('away')]);
});
