import { expect, test } from 'bun:test';
import { createQueueDelay } from '../../../src/metering/admission/load.ts';

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

test('a burst after a quiet time is not called an overload', () => {
  const stage = createStage();
  stage.begin(1);
  stage.finish(1);
  stage.pass(60_000);
  stage.begin(1000);
  expect(stage.delay.estimateMs()).toBe(250);
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
