import { expect, test } from 'bun:test';
import { createClosers } from '../src/closers.ts';

const TIMEOUT_MS = 200;
/** More than that by so much at most, on a busy machine. */
const SLACK_MS = 150;

/** Closers with one that hangs, one that fails and one that closes after a moment. */
function three() {
  const events: string[] = [];
  const closers = createClosers((what) => events.push(`${what} failed`), TIMEOUT_MS);
  closers.add('slow', async () => {
    events.push('slow');
    await Bun.sleep(20);
    events.push('slow is closed');
  });
  closers.add('failing', async () => {
    events.push('failing');
    throw new Error('no');
  });
  closers.add('hanging', () => {
    events.push('hanging');
    return new Promise(() => {});
  });
  return { closers, events };
}

async function timeOf(work: Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work;
  return performance.now() - startedAt;
}

test('in turn: last in first out; what hangs takes the time of all, and each is closed for all that', async () => {
  const { closers, events } = three();
  expect(await timeOf(closers.close())).toBeWithin(TIMEOUT_MS - 10, TIMEOUT_MS + SLACK_MS);
  expect(events.slice(0, 5)).toEqual(['hanging', 'hanging failed', 'failing', 'failing failed', 'slow']);
});

test('in turn: many that hang take no longer than one', async () => {
  const failed: string[] = [];
  const closers = createClosers((what) => failed.push(what), TIMEOUT_MS);
  for (const what of ['a', 'b', 'c', 'd']) closers.add(what, () => new Promise(() => {}));
  expect(await timeOf(closers.close())).toBeWithin(TIMEOUT_MS - 10, TIMEOUT_MS + SLACK_MS);
  expect(failed).toEqual(['d', 'c', 'b', 'a']);
});

test('at once: none waits for one that hangs', async () => {
  const { closers, events } = three();
  expect(await timeOf(closers.closeAtOnce())).toBeWithin(TIMEOUT_MS - 10, TIMEOUT_MS + SLACK_MS);
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
  const { closers, events } = three();
  await closers.closeAtOnce();
  events.length = 0;
  await closers.closeAtOnce();
  await closers.close();
  expect(events).toEqual([]);
});
