import { expect, test } from 'bun:test';
import { OverloadedError, withTimeout } from '../../src/runtime/timeout.ts';

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

test('an answer that arrived while the process was busy is in time', async () => {
  const answer = withTimeout(Bun.sleep(10), 30, 'a moment');
  const startMs = performance.now();
  while (performance.now() - startMs < 50);
  await answer;
});

test('a process that is too busy to notice the timeout says that it is overloaded', async () => {
  const answer = withTimeout(unanswered({}), 20, 'the server');
  const startMs = performance.now();
  while (performance.now() - startMs < 400);
  await expect(answer).rejects.toThrow(OverloadedError);
});
