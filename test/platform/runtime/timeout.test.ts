import { afterEach, beforeEach, expect, test } from 'bun:test';
import { OverloadedError, withTimeout } from '../../../src/platform/runtime/timeout.ts';
import { stopClock } from '../../support/stopped-clock.ts';
import { poll } from '../../support/until.ts';

let clock: ReturnType<typeof stopClock>;
beforeEach(() => {
  clock = stopClock();
});
afterEach(() => clock.restore());

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

test('a query that takes too long fails; one that was not sent leaves the queue of its client', async () => {
  for (const [state, cancelled] of [
    [null, 1],
    [{}, 0],
  ] as const) {
    const query = unanswered(state);
    await expect(withTimeout(query, 20, 'the server')).rejects.toThrow(
      'the server did not answer within 20 ms',
    );
    expect(query.cancelled).toBe(cancelled);
  }
});

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
  expect(
    await poll(
      () => failures,
      ({ length }) => length === 3,
    ),
  ).toEqual([message, message, message]);
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
