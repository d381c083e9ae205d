import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';
import { withDirectoryLock } from '../../src/directory/lock.ts';
import { createWorkbench, type Workbench } from './support.ts';

let bench: Workbench;
beforeEach(async () => {
  bench = await createWorkbench('embedded');
});
afterEach(() => bench.close());

test('whoever waits for the holder waits on when the clock is set, as after a machine slept', async () => {
  const { promise: isHeld, resolve: onHeld } = Promise.withResolvers<void>();
  const first = withDirectoryLock(bench.tools, 'companies import', async () => {
    onHeld();
    await Bun.sleep(500);
  });
  await isHeld;
  let hours = 0;
  const startedAtMs = Date.now();
  const clock = spyOn(Date, 'now').mockImplementation(() => startedAtMs + 3_600_000 * hours++);
  try {
    expect(
      await withDirectoryLock(bench.tools, 'index rebuild', async () => 'done', {
        patienceMs: 30_000,
      }),
    ).toBe('done');
  } finally {
    clock.mockRestore();
  }
  await first;
});
