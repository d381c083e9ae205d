import { expect, test } from 'bun:test';
import { createGate } from '../../src/dashboard/request/gate.ts';
import { OverloadedError } from '../../src/runtime/timeout.ts';

const LIMITS = { maxRunning: 2, maxWaiting: 3, maxWaitMs: 60_000, maxOfOne: 10 };

/** Tasks that end when the test says so. */
function createTasks() {
  const begun: number[] = [];
  const ends = new Map<number, (error?: Error) => void>();
  const task = (id: number) => () => {
    begun.push(id);
    return new Promise<number>((resolve, reject) => {
      ends.set(id, (error) => (error === undefined ? resolve(id) : reject(error)));
    });
  };
  return { begun, task, end: (id: number, error?: Error) => ends.get(id)!(error) };
}

test('as many tasks run as there are places; the next wait in their order; further ones are refused at once', async () => {
  const gate = createGate(LIMITS);
  const { begun, task, end } = createTasks();
  const running = [1, 2, 3, 4, 5].map((id) => gate.run('a', task(id)));
  await expect(gate.run('a', task(6))).rejects.toBeInstanceOf(OverloadedError);
  expect(begun).toEqual([1, 2]);
  end(2);
  await running[1];
  expect(begun).toEqual([1, 2, 3]);
  running.push(gate.run('a', task(6)));
  end(1, new Error('failed'));
  await expect(running[0]!).rejects.toThrow('failed');
  expect(begun).toEqual([1, 2, 3, 4]);
  for (const id of [3, 4]) end(id);
  await Promise.all(running.slice(2, 4));
  for (const id of [5, 6]) end(id);
  expect(await Promise.all(running.slice(4))).toEqual([5, 6]);
  const more = [7, 8].map((id) => gate.run('a', task(id)));
  expect(begun.slice(6)).toEqual([7, 8]);
  for (const id of [7, 8]) end(id);
  await Promise.all(more);
});

test('a task that leaves early gives its place away, once', async () => {
  const gate = createGate({ ...LIMITS, maxRunning: 1 });
  const { begun, task, end } = createTasks();
  let leaveFirst = () => {};
  const first = gate.run('a', (leave) => {
    leaveFirst = leave;
    return task(1)();
  });
  const others = [2, 3].map((id) => gate.run('a', task(id)));
  leaveFirst();
  leaveFirst();
  end(1);
  await first;
  expect(begun).toEqual([1, 2]);
  end(2);
  await others[0];
  end(3);
  await others[1];
});

test('a task whose turn does not come in time is refused and never runs', async () => {
  const gate = createGate({ maxRunning: 1, maxWaiting: 3, maxWaitMs: 20, maxOfOne: 10 });
  const { begun, task, end } = createTasks();
  const first = gate.run('a', task(1));
  await expect(gate.run('a', task(2))).rejects.toBeInstanceOf(OverloadedError);
  end(1);
  await first;
  const third = gate.run('a', task(3));
  expect(begun).toEqual([1, 3]);
  end(3);
  await third;
});

test('one client has some of the places; the others are left to others', async () => {
  const gate = createGate({ ...LIMITS, maxOfOne: 3 });
  const { begun, task, end } = createTasks();
  const own = [1, 2, 3].map((id) => gate.run('a', task(id)));
  await expect(gate.run('a', task(4))).rejects.toBeInstanceOf(OverloadedError);
  const other = gate.run('b', task(5));
  end(1);
  await own[0];
  const again = gate.run('a', task(6));
  end(2);
  await own[1];
  expect(begun).toEqual([1, 2, 3, 5]);
  for (const id of [3, 5]) end(id);
  await Promise.all([own[2], other]);
  end(6);
  expect(await again).toBe(6);
});
