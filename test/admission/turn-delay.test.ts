import { expect, test } from 'bun:test';
import { createTurnDelay } from '../../src/admission/turn-delay.ts';

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

test('a turn that reads a burst of 256 requests delays none, however slow', () => {
  const { turns, read } = createLoop();
  read(256, 10);
  expect(turns.estimateMs()).toBe(0);
});

test('in a longer turn a request is expected to wait six times the turn so far', () => {
  const { turns, read } = createLoop();
  read(512, 0.25);
  expect(turns.estimateMs()).toBe(768);
});

test('the next turn begins without a delay, and without the requests of the one before', () => {
  const { turns, read, endTurn } = createLoop();
  read(512, 0.25);
  endTurn();
  expect(turns.estimateMs()).toBe(0);
  read(256, 0.25);
  expect(turns.estimateMs()).toBe(0);
  read(256, 0.25);
  expect(turns.estimateMs()).toBe(768);
});
