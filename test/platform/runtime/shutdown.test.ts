/** Tasks that a service repeats, and what it closes at its end. */
import { afterEach, beforeEach, describe, expect, jest, test } from 'bun:test';
import { startInterval } from '../../../src/platform/runtime/interval.ts';
import { createCleanup } from '../../../src/platform/runtime/shutdown.ts';

const TIMEOUT_MS = 200;

/** Cleanup with one that hangs, one that fails, one that throws at once, and one that closes after a moment. */
function four() {
  const events: string[] = [];
  const cleanup = createCleanup((what) => events.push(`${what} failed`), TIMEOUT_MS);
  cleanup.add('slow', async () => {
    events.push('slow');
    await Bun.sleep(20);
    events.push('slow is closed');
  });
  cleanup.add('throwing', () => {
    events.push('throwing');
    throw new Error('no');
  });
  cleanup.add('failing', async () => {
    events.push('failing');
    throw new Error('no');
  });
  cleanup.add('hanging', () => {
    events.push('hanging');
    return new Promise(() => {});
  });
  return { cleanup, events };
}

test('in turn: last in first out; what hangs takes the time of all, and each is closed for all that', async () => {
  const { cleanup, events } = four();
  await cleanup.runInReverse();
  const failed = ['hanging', 'failing', 'throwing'].flatMap((what) => [what, `${what} failed`]);
  expect(events.slice(0, 7)).toEqual([...failed, 'slow']);
});

test('in turn: many that hang take no longer than one', async () => {
  const failed: string[] = [];
  const cleanup = createCleanup((what) => failed.push(what), TIMEOUT_MS);
  // With the whole time for each of them the test would time out.
  const all = Array.from({ length: 500 }, (_, n) => `resource ${n}`);
  for (const what of all) cleanup.add(what, () => new Promise(() => {}));
  await cleanup.runInReverse();
  expect(failed).toEqual(all.toReversed());
});

test('at once: none waits for one that hangs', async () => {
  const { cleanup, events } = four();
  await cleanup.runInParallel();
  const failed = ['throwing', 'failing'].map((what) => `${what} failed`);
  expect(events).toEqual([
    ...['slow', 'throwing', 'failing', 'hanging'],
    ...failed,
    ...['slow is closed', 'hanging failed'],
  ]);
});

test('nothing is closed twice', async () => {
  const { cleanup, events } = four();
  await cleanup.runInParallel();
  events.length = 0;
  await cleanup.runInParallel();
  await cleanup.runInReverse();
  expect(events).toEqual([]);
});

describe('a task at intervals', () => {
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

  test('is run every so often, and not again while it is under way', async () => {
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
});
