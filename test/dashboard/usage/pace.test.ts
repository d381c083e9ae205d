/** The time that a download waits for its reader (src/dashboard/usage/download.ts). */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { createPace } from '../../../src/dashboard/usage/download.ts';
import { KIB, MINUTE, SECOND } from '../../../src/platform/units.ts';
import { stopClock } from '../../support/stopped-clock.ts';

let clock: ReturnType<typeof stopClock>;
beforeEach(() => {
  clock = stopClock();
});
afterEach(() => clock.restore());

/** Seconds until a reader that takes so many KiB a second is cut off; at most 400. */
function lifeOf(kibPerSecond: number, isWanted: () => boolean): number {
  const pace = createPace(isWanted);
  let seconds = 0;
  for (; seconds < 400 && pace.leftMs() > 0; seconds += 1) {
    clock.pass(SECOND);
    pace.took(kibPerSecond * KIB, SECOND);
  }
  return seconds;
}

test('a reader that stops is cut off after 10 s', () => {
  expect(lifeOf(0, () => false)).toBe(10);
});

test.each([64, 128, 240])('a reader of %d KiB a second, below the floor, is cut off', (speed) => {
  expect(lifeOf(speed, () => false)).toBeLessThan(300);
});

test.each([256, 1000, 1_000_000])('a reader of %d KiB a second has five minutes, and no more', (speed) => {
  expect(Math.abs(lifeOf(speed, () => false) - (5 * MINUTE) / SECOND)).toBeLessThanOrEqual(1);
});

test.each([0, 64, 256, 512, 640])(
  'a reader of %d KiB a second leaves a place that another account wants within 15 s',
  (speed) => {
    let isWanted = false;
    const pace = createPace(() => isWanted);
    for (let seconds = 0; seconds < 10 && speed >= 256; seconds += 1) {
      clock.pass(SECOND);
      pace.took(speed * KIB, SECOND);
    }
    isWanted = true;
    let seconds = 0;
    for (; pace.leftMs() > 0; seconds += 1) {
      clock.pass(SECOND);
      pace.took(speed * KIB, SECOND);
    }
    expect(seconds).toBeLessThanOrEqual(15);
  },
);

test('a fast reader keeps a place that another account wants', () => {
  expect(lifeOf(1024, () => true)).toBeGreaterThanOrEqual((5 * MINUTE) / SECOND);
});
