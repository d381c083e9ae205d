/** The rules of Postgres that the simulation relies on, each as Postgres documents it for READ COMMITTED. */
import { expect, test } from 'bun:test';
import { Engine, type Steps, type Transaction, table } from './engine.ts';
import { createRandom, world } from './world.ts';

const ROWS = table<{ n: number }>('rows');

/** Runs statements that begin at once, and keep their locks until an instant. @returns the engine and how each ended */
async function atOnce(
  statements: ((tx: Transaction) => Steps<unknown>)[],
  lockTimeoutMs = 0,
): Promise<{ engine: Engine; ends: string[] }> {
  world.begin(1, 0);
  const engine = new Engine(createRandom(1), false, () => {});
  for (const key of ['a', 'b']) engine.put(ROWS, key, { n: 0 });
  const ends: string[] = [];
  for (const [index, statement] of statements.entries())
    engine.run(`statement ${index}`, lockTimeoutMs, statement, (error, result) => {
      ends[index] = error === null ? JSON.stringify(result) : (error as Error & { code: string }).code;
    });
  await world.run(60_000);
  return { engine, ends };
}

function* rest(forMs: number): Steps<void> {
  for (const endMs = world.nowMs + forMs; world.nowMs < endMs; ) yield 'pause';
}

function* add(tx: Transaction, ...keys: string[]): Steps<number[]> {
  const found: number[] = [];
  for (const key of keys) {
    const updated = yield* tx.update(
      ROWS,
      key,
      () => true,
      ({ n }) => ({ n: n + 1 }),
    );
    found.push(updated!.new.n);
    yield* rest(20);
  }
  return found;
}

test('a statement that waited for a row computes from its new version', async () => {
  const { ends } = await atOnce([(tx) => add(tx, 'a'), (tx) => add(tx, 'a')]);
  expect(ends.toSorted()).toEqual(['[1]', '[2]']);
});

test('it rereads that row alone: the others are those of its snapshot, and the condition is asked again', async () => {
  const { ends } = await atOnce([
    (tx) => add(tx, 'a', 'b'),
    function* (tx) {
      yield* rest(5);
      const updated = yield* tx.update(
        ROWS,
        'a',
        ({ n }) => n === 0,
        (row) => row,
      );
      return [updated === undefined, tx.read(ROWS, 'b')!.n];
    },
  ]);
  expect(ends).toEqual(['[1,1]', '[true,0]']);
});

test('two statements that lock in different orders are a deadlock, which is reported; one of them is rolled back', async () => {
  const { engine, ends } = await atOnce([(tx) => add(tx, 'a', 'b'), (tx) => add(tx, 'b', 'a')]);
  expect(ends.toSorted()).toEqual(['40P01', '[1,1]']);
  expect(engine.problems).toHaveLength(1);
  expect(engine.all(ROWS)).toEqual([
    ['a', { n: 1 }],
    ['b', { n: 1 }],
  ]);
});

test('a wait ends after the timeout of the pool', async () => {
  const slow = function* (tx: Transaction) {
    yield* tx.lock(ROWS, 'a');
    yield* rest(500);
  };
  const { ends } = await atOnce([slow, slow], 300);
  expect(ends.filter((end) => end === '55P03')).toHaveLength(1);
});

test('of two inserts of a key one waits for the other, and fails if that is committed', async () => {
  const insert = (fails: boolean) =>
    function* (tx: Transaction) {
      yield* tx.insertNew(ROWS, 'new', { n: 1 });
      yield* rest(20);
      if (fails) throw Object.assign(new Error('rolled back'), { code: 'rolled back' });
    };
  expect((await atOnce([insert(false), insert(false)])).ends).toContain('23505');
  expect((await atOnce([insert(true), insert(true)])).ends).toEqual(['rolled back', 'rolled back']);
});

test('a row that is locked is skipped, and a restart rolls back what runs', async () => {
  const { ends } = await atOnce([
    (tx) => add(tx, 'a'),
    function* (tx) {
      yield* rest(10);
      return [tx.tryLock(ROWS, 'a'), tx.tryLock(ROWS, 'b')];
    },
    function* (tx) {
      yield* tx.lock(ROWS, 'b');
      tx.write(ROWS, 'b', { n: 9 });
      yield* rest(15);
      tx.engine.restart();
    },
  ]);
  expect(ends[1]).toBe('[false,false]');
  expect(ends[2]).toBe('57P01');
});
