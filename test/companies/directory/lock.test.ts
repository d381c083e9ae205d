import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';
import { withDirectoryLock } from '../../../src/companies/directory/lock.ts';
import { until } from '../../support/until.ts';
import { createWorkbench, type Workbench } from '../../support/workbench.ts';

let bench: Workbench;
beforeEach(async () => {
  bench = await createWorkbench('postgres');
});
afterEach(() => bench.close());

test('whoever waits for the holder waits on when the clock is set, as after a machine slept', async () => {
  const { promise: isHeld, resolve: onHeld } = Promise.withResolvers<void>();
  const first = withDirectoryLock(bench.tools, 'companies import', async () => {
    onHeld();
    await until('the other command', async () => {
      const [row] = await bench.database.sql`
        SELECT 1 FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%pg_try_advisory_lock%'`;
      return row !== undefined;
    });
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
