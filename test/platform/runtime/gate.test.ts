import { expect, test } from 'bun:test';
import { createGate, type GateLimits } from '../../../src/platform/runtime/gate.ts';
import { OverloadedError } from '../../../src/platform/runtime/timeout.ts';

const LIMITS = { places: 2, placesOfOne: 2, maxWaiting: 3, maxWaitMs: 60_000 };

/** Requests at a gate: those that have a place, in the order in which they got it, and those that were refused. */
function setUp(limits: Partial<GateLimits> = {}) {
  const gate = createGate({ ...LIMITS, ...limits });
  const placed: string[] = [];
  const refused: string[] = [];
  const leaves = new Map<string, () => void>();
  /** The first letter is the client. */
  const enter = async (...names: string[]) => {
    for (const name of names) {
      gate.enter(name[0]!).then(
        (leave) => {
          placed.push(name);
          leaves.set(name, leave);
        },
        (error) => {
          expect(error).toBeInstanceOf(OverloadedError);
          refused.push(name);
        },
      );
    }
    await settle();
  };
  const leave = async (...names: string[]) => {
    for (const name of names) leaves.get(name)!();
    await settle();
  };
  return { placed, refused, enter, leave };
}

const settle = () => new Promise(setImmediate);

test('as many requests as there are places are in flight; the next get theirs in order; further ones are refused at once', async () => {
  const { placed, refused, enter, leave } = setUp();
  await enter('a1', 'a2', 'a3', 'a4', 'a5', 'a6');
  expect([placed, refused]).toEqual([['a1', 'a2'], ['a6']]);
  await leave('a2');
  expect(placed).toEqual(['a1', 'a2', 'a3']);
  await leave('a1', 'a3');
  expect(placed).toEqual(['a1', 'a2', 'a3', 'a4', 'a5']);
  await leave('a4', 'a5');
  await enter('a7', 'a8');
  expect(placed.slice(5)).toEqual(['a7', 'a8']);
});

test('a place is given back once, however often its request leaves', async () => {
  const { placed, enter, leave } = setUp({ places: 1 });
  await enter('a1', 'b1', 'c1');
  await leave('a1', 'a1', 'a1');
  expect(placed).toEqual(['a1', 'b1']);
});

test('clients take turns: one request of a client passes the many that another has waiting', async () => {
  const { placed, enter, leave } = setUp({ places: 1, maxWaiting: 10 });
  await enter('a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1');
  for (const name of ['a1', 'a2', 'b1', 'c1', 'a3', 'b2']) await leave(name);
  expect(placed).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
});

test('no client has all places: the others find one free', async () => {
  const { placed, enter, leave } = setUp({ places: 3, placesOfOne: 2, maxWaiting: 10 });
  await enter('a1', 'a2', 'a3', 'a4');
  expect(placed).toEqual(['a1', 'a2']);
  await enter('b1');
  expect(placed).toEqual(['a1', 'a2', 'b1']);
  await leave('b1');
  expect(placed).toEqual(['a1', 'a2', 'b1']);
  await leave('a1');
  expect(placed).toEqual(['a1', 'a2', 'b1', 'a3']);
});

test('when too many wait, the client with the most of them loses its latest', async () => {
  const { placed, refused, enter, leave } = setUp({ places: 1 });
  await enter('x1', 'a1', 'a2', 'a3', 'b1', 'c1', 'd1');
  // The last finds as many waiting of each as it would have itself.
  expect(refused).toEqual(['a3', 'a2', 'd1']);
  for (const name of ['x1', 'a1', 'b1']) await leave(name);
  expect(placed).toEqual(['x1', 'a1', 'b1', 'c1']);
});

test('a request whose place is not free in time is refused, and takes none later', async () => {
  const { placed, refused, enter, leave } = setUp({ places: 1, maxWaitMs: 20 });
  await enter('a1', 'b1');
  while (refused.length === 0) await Bun.sleep(1);
  expect(refused).toEqual(['b1']);
  await leave('a1');
  await enter('c1');
  expect(placed).toEqual(['a1', 'c1']);
});

test('a gate where none may wait refuses at once when its places are taken', async () => {
  const { placed, refused, enter } = setUp({ placesOfOne: 1, maxWaiting: 0 });
  await enter('a1', 'a2', 'b1', 'c1');
  expect([placed, refused]).toEqual([
    ['a1', 'b1'],
    ['a2', 'c1'],
  ]);
});
