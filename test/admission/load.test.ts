import { expect, test } from 'bun:test';
import { createLoad } from '../../src/admission/load.ts';

/** A stage whose work the test ends, by a clock that it moves. */
function createStage() {
  let nowMs = 1000;
  const load = createLoad(() => nowMs);
  const ends: (() => void)[] = [];
  return {
    load,
    pass: (ms: number) => {
      nowMs += ms;
    },
    begin(count: number) {
      for (let each = 0; each < count; each += 1) {
        void load.track(() => new Promise<void>((resolve) => ends.push(resolve)));
      }
    },
    async finish(count: number) {
      for (const end of ends.splice(0, count)) end();
      await Promise.resolve();
      await Bun.sleep(0);
    },
  };
}

test('a burst after a quiet time is not called an overload', async () => {
  const stage = createStage();
  stage.begin(1);
  await stage.finish(1);
  stage.pass(60_000);
  stage.begin(800);
  expect(stage.load.expectedWaitMs()).toBe(0);
});

test('a burst onto a service with little to do is not called an overload', async () => {
  const stage = createStage();
  for (let request = 0; request < 100; request += 1) {
    stage.begin(1);
    stage.pass(10);
    await stage.finish(1);
  }
  stage.begin(300);
  expect(stage.load.expectedWaitMs()).toBe(0);
});

test('with a queue, the wait is what is under way divided by what gets done', async () => {
  const stage = createStage();
  stage.begin(1000);
  stage.pass(250);
  await stage.finish(500); // 2 a millisecond
  expect(stage.load.expectedWaitMs()).toBe(250);
  stage.begin(1500);
  expect(stage.load.expectedWaitMs()).toBe(1000);
});

test('a stage that stands still shows within a second', async () => {
  const stage = createStage();
  stage.begin(64);
  expect(stage.load.expectedWaitMs()).toBe(0);
  stage.pass(250);
  expect(stage.load.expectedWaitMs()).toBe(Number.POSITIVE_INFINITY);
  const busy = createStage();
  busy.begin(200);
  busy.pass(250);
  await busy.finish(100);
  expect(busy.load.expectedWaitMs()).toBe(250);
  for (let quarter = 0; quarter < 4; quarter += 1) {
    busy.pass(250);
    busy.load.expectedWaitMs();
  }
  expect(busy.load.expectedWaitMs()).toBeGreaterThan(2000);
});

test('what has drained is forgotten', async () => {
  const stage = createStage();
  stage.begin(100);
  stage.pass(1000);
  expect(stage.load.expectedWaitMs()).toBe(Number.POSITIVE_INFINITY);
  await stage.finish(100);
  expect(stage.load.running).toBe(0);
  stage.begin(100);
  expect(stage.load.expectedWaitMs()).toBe(0);
});

test('work that fails is done as well', async () => {
  const { load } = createStage();
  const failed = load.track(() => Promise.reject(new Error('no'))).catch((error: Error) => error.message);
  expect(await failed).toBe('no');
  expect(load.running).toBe(0);
});
