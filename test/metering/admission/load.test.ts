import { expect, test } from 'bun:test';
import { createQueueDelay, createTurnDelay } from '../../../src/metering/admission/load.ts';

/** A stage whose work the test ends, by a clock that it moves. */
function createStage() {
  let nowMs = 1000;
  const delay = createQueueDelay(() => nowMs);
  return {
    delay,
    pass: (ms: number) => {
      nowMs += ms;
    },
    begin(count: number) {
      for (let each = 0; each < count; each += 1) delay.enter();
    },
    finish(count: number) {
      for (let each = 0; each < count; each += 1) delay.leave();
    },
  };
}

test('a crowd that comes before anything is known is not let in whole', () => {
  const stage = createStage();
  stage.begin(5000);
  expect(stage.delay.estimateMs()).toBe(1250);
  // The completion rate is known after one window, a quarter of a second.
  stage.pass(250);
  stage.finish(4000);
  expect(stage.delay.estimateMs()).toBe(62.5);
});

test('a burst onto a service with little to do is not called an overload', () => {
  const stage = createStage();
  for (let request = 0; request < 100; request += 1) {
    stage.begin(1);
    stage.pass(10);
    stage.finish(1);
  }
  stage.begin(300);
  expect(stage.delay.estimateMs()).toBe(75);
});

test('with a queue, the wait is what is under way divided by what gets done', () => {
  const stage = createStage();
  stage.begin(2500);
  stage.pass(250);
  stage.finish(1250); // 5 a millisecond
  expect(stage.delay.estimateMs()).toBe(250);
  stage.begin(3750);
  expect(stage.delay.estimateMs()).toBe(1000);
});

test('a stage that stands still shows within a second', () => {
  const stage = createStage();
  stage.begin(64);
  expect(stage.delay.estimateMs()).toBe(16);
  stage.pass(250);
  expect(stage.delay.estimateMs()).toBe(64);
  stage.pass(750);
  expect(stage.delay.estimateMs()).toBeGreaterThan(2000);
  const busy = createStage();
  busy.begin(4000);
  busy.pass(250);
  busy.finish(3000); // 12 a millisecond
  expect(busy.delay.estimateMs()).toBeLessThan(100);
  for (let quarter = 0; quarter < 4; quarter += 1) {
    busy.pass(250);
    busy.delay.estimateMs();
  }
  expect(busy.delay.estimateMs()).toBeGreaterThan(2000);
});

test('what gets done while most are refused is not taken for all that can be done, unless it stays so', () => {
  const stage = createStage();
  stage.begin(5000);
  stage.pass(250);
  stage.finish(3000); // 12 a millisecond
  expect(stage.delay.estimateMs()).toBe(2000 / 12);
  const quarter = (count: number) => {
    stage.begin(count);
    stage.pass(250);
    stage.finish(count);
    return stage.delay.estimateMs();
  };
  expect(quarter(250)).toBeLessThan(200);
  for (let second = 0; second < 10; second += 1) for (let each = 0; each < 4; each += 1) quarter(250);
  expect(quarter(250)).toBeGreaterThan(1000);
  // More counts at once.
  expect(quarter(3000)).toBe(2000 / 12);
});

test('a stall is forgotten once the stage has drained, so that the burst behind it is no overload', () => {
  const stage = createStage();
  stage.begin(100);
  stage.pass(1000);
  expect(stage.delay.estimateMs()).toBeGreaterThan(2000);
  stage.finish(100);
  stage.pass(60_000);
  stage.begin(1000);
  expect(stage.delay.estimateMs()).toBe(250);
});

/** An event loop whose turns the test ends, by a clock that it moves. */
function createLoop() {
  let nowMs = 1000;
  let ends: (() => void)[] = [];
  const turns = createTurnDelay(
    () => nowMs,
    (end) => ends.push(end),
  );
  return {
    turns,
    read(requests: number, eachMs: number) {
      for (let request = 0; request < requests; request += 1) {
        turns.read();
        nowMs += eachMs;
      }
    },
    endTurn() {
      for (const end of ends) end();
      ends = [];
    },
  };
}

test('in a turn of more than 256 requests one is expected to wait six times the turn so far, and none in the next', () => {
  const { turns, read, endTurn } = createLoop();
  const expected = (requests: number, eachMs: number) => {
    read(requests, eachMs);
    return turns.estimateMs();
  };
  expect([expected(256, 10), endTurn(), expected(512, 0.25)]).toEqual([0, undefined, 768]);
  endTurn();
  expect([turns.estimateMs(), expected(256, 0.25), expected(256, 0.25)]).toEqual([0, 0, 768]);
});
