import { expect, test } from 'bun:test';
import { createCleanup } from '../../src/runtime/shutdown.ts';

const TIMEOUT_MS = 200;
/** More than that by so much at most, on a busy machine. */
const SLACK_MS = 150;

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

async function timeOf(work: Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work;
  return performance.now() - startedAt;
}

test('in turn: last in first out; what hangs takes the time of all, and each is closed for all that', async () => {
  const { cleanup, events } = three();
  expect(await timeOf(cleanup.runInReverse())).toBeWithin(TIMEOUT_MS - 10, TIMEOUT_MS + SLACK_MS);
  expect(events.slice(0, 5)).toEqual(['hanging', 'hanging failed', 'failing', 'failing failed', 'slow']);
});

test('in turn: many that hang take no longer than one', async () => {
  const failed: string[] = [];
  const cleanup = createCleanup((what) => failed.push(what), TIMEOUT_MS);
  for (const what of ['a', 'b', 'c', 'd']) cleanup.add(what, () => new Promise(() => {}));
  expect(await timeOf(cleanup.runInReverse())).toBeWithin(TIMEOUT_MS - 10, TIMEOUT_MS + SLACK_MS);
  expect(failed).toEqual(['d', 'c', 'b', 'a']);
});

test('at once: none waits for one that hangs', async () => {
  const { cleanup, events } = three();
  expect(await timeOf(cleanup.runInParallel())).toBeWithin(TIMEOUT_MS - 10, TIMEOUT_MS + SLACK_MS);
  expect(events).toEqual([
    'slow',
    'failing',
    'hanging',
    'failing failed',
    'slow is closed',
    'hanging failed',
  ]);
});

test('nothing is closed twice', async () => {
  const { cleanup, events } = three();
  await cleanup.runInParallel();
  events.length = 0;
  await cleanup.runInParallel();
  await cleanup.runInReverse();
  expect(events).toEqual([]);
});
