import { expect, test } from 'bun:test';
import { createCleanup } from '../../../src/platform/runtime/shutdown.ts';

const TIMEOUT_MS = 200;

/** Cleanup with one that hangs, one that fails and one that closes after a moment. */
function three() {
  const events: string[] = [];
  const cleanup = createCleanup((what) => events.push(`${what} failed`), TIMEOUT_MS);
  cleanup.add('slow', async () => {
    events.push('slow');
    await Bun.sleep(20);
    events.push('slow is closed');
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
  const { cleanup, events } = three();
  await cleanup.runInReverse();
  expect(events.slice(0, 5)).toEqual(['hanging', 'hanging failed', 'failing', 'failing failed', 'slow']);
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
  const { cleanup, events } = three();
  await cleanup.runInParallel();
  expect(events).toEqual([
    'slow',
    'failing',
    'hanging',
    'failing failed',
    'slow is closed',
    'hanging failed',
  ]);
});

test('one that throws at once keeps no other from being closed', async () => {
  const events: string[] = [];
  const cleanup = createCleanup((what) => events.push(`${what} failed`), TIMEOUT_MS);
  cleanup.add('first', async () => events.push('first'));
  cleanup.add('throwing', () => {
    throw new Error('no');
  });
  await cleanup.runInReverse();
  expect(events).toEqual(['throwing failed', 'first']);
});

test('nothing is closed twice', async () => {
  const { cleanup, events } = three();
  await cleanup.runInParallel();
  events.length = 0;
  await cleanup.runInParallel();
  await cleanup.runInReverse();
  expect(events).toEqual([]);
});
