import { expect, test } from 'bun:test';
import { createQueueDelay, createTurnDelay } from '../../../src/metering/admission/load.ts';

/** Requests that begin, milliseconds that pass, requests that finish, and the wait that is estimated then, or what it is between. */
type Step = [begin: number, passMs: number, finish: number, waitMs?: number | [least: number, most: number]];

const OVERLOAD: [number, number] = [2000, Number.POSITIVE_INFINITY];
const ANY: [number, number] = [0, Number.POSITIVE_INFINITY];

const times = (count: number, step: Step): Step[] => Array.from({ length: count }, () => step);

test.each<[string, Step[]]>([
  [
    'a crowd that comes before anything is known is not let in whole',
    // The completion rate is known after one window, a quarter of a second.
    [
      [5000, 0, 0, 1250],
      [0, 250, 4000, 62.5],
    ],
  ],
  [
    'a burst onto a service with little to do is not called an overload',
    [...times(100, [1, 10, 1]), [300, 0, 0, 75]],
  ],
  [
    'with a queue, the wait is what is under way divided by what gets done',
    [
      [2500, 250, 1250, 250],
      [3750, 0, 0, 1000],
    ],
  ],
  ['fewer than 64 requests are no queue, however long they take', [[63, 60_000, 0, 0]]],
  [
    'a stage that stands still shows within a second',
    [
      [64, 0, 0, 16],
      [0, 250, 0, 64],
      [0, 750, 0, OVERLOAD],
    ],
  ],
  [
    'a busy stage that stands still shows within a second',
    [[4000, 250, 3000, [0, 100]], ...times(3, [0, 250, 0, ANY]), [0, 250, 0, OVERLOAD]],
  ],
  [
    'what gets done while most are refused is not taken for all that can be done, unless it stays so',
    [
      [5000, 250, 3000, 2000 / 12],
      [250, 250, 250, [0, 200]],
      ...times(40, [250, 250, 250, ANY]),
      [250, 250, 250, [1000, 10_000]],
      // More counts at once.
      [3000, 250, 3000, 2000 / 12],
    ],
  ],
  [
    'a stall is forgotten once the stage has drained, so that the burst behind it is no overload',
    [
      [100, 1000, 0, OVERLOAD],
      [0, 0, 100],
      [0, 60_000, 0],
      [1000, 0, 0, 250],
    ],
  ],
])('%s', (_, steps) => {
  let nowMs = 1000;
  const delay = createQueueDelay(() => nowMs);
  for (const [begin, passMs, finish, waitMs] of steps) {
    for (let each = 0; each < begin; each += 1) delay.enter();
    nowMs += passMs;
    for (let each = 0; each < finish; each += 1) delay.leave();
    if (Array.isArray(waitMs)) expect(delay.estimateMs()).toBeWithin(...waitMs);
    else if (waitMs !== undefined) expect(delay.estimateMs()).toBe(waitMs);
  }
});

test('in a turn of more than 256 requests one is expected to wait six times the turn so far, and none in the next', () => {
  let nowMs = 1000;
  let endTurn = () => {};
  const turns = createTurnDelay(
    () => nowMs,
    (end) => {
      endTurn = end;
    },
  );
  const expected = (requests: number, eachMs: number) => {
    for (let request = 0; request < requests; request += 1) {
      turns.read();
      nowMs += eachMs;
    }
    return turns.estimateMs();
  };
  expect([expected(256, 10), endTurn(), expected(512, 0.25)]).toEqual([0, undefined, 768]);
  endTurn();
  expect([turns.estimateMs(), expected(256, 0.25), expected(256, 0.25)]).toEqual([0, 0, 768]);
});
