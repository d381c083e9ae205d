import { expect, test } from 'bun:test';
import { createMetrics } from '../../../src/platform/observability/metrics.ts';
import { createBatcher } from '../../../src/platform/runtime/batcher.ts';

test('a count that is kept elsewhere is shown as it is, however often it is asked for', async () => {
  const answers = { hit: 3, miss: 5 };
  const metrics = createMetrics();
  metrics.counterOf('answers_total', 'Answers.', 'outcome', () => answers);
  for (const hits of [3, 3, 4]) {
    answers.hit = hits;
    const text = await metrics.text();
    expect(text).toContain(`\nanswers_total{outcome="hit"} ${hits}\n`);
    expect(text).toContain('\nanswers_total{outcome="miss"} 5\n');
  }
});

test('CPU time is that of the process', async () => {
  const metrics = createMetrics();
  const shown = async () => Number(/^process_cpu_seconds_total (\S+)$/m.exec(await metrics.text())![1]) * 1e6;
  for (let i = 0; i < 3; i++) {
    const before = process.cpuUsage();
    const value = await shown();
    const after = process.cpuUsage();
    expect(value).toBeGreaterThanOrEqual(before.user + before.system - 1);
    expect(value).toBeLessThanOrEqual(after.user + after.system + 1);
  }
});

test('batches are counted by stage', async () => {
  const shown = async () => {
    const text = await createMetrics().text();
    const counts = text.matchAll(/^batch_(\w+)_total\{stage="usage"\} (\S+)$/gm);
    return Object.fromEntries([...counts].map(([, name, value]) => [name!, Number(value)]));
  };
  const echo = createBatcher(async (items: number[]) => items, {
    name: 'the echo',
    stage: 'usage',
  });
  const before = await shown();
  expect(await Promise.all([1, 2, 3].map(echo))).toEqual([1, 2, 3]);
  await echo(4);
  const after = await shown();
  expect([after.runs! - before.runs!, after.items! - before.items!]).toEqual([2, 4]);
  expect(after.run_seconds!).toBeGreaterThan(before.run_seconds!);
  expect(after.gap_seconds!).toBeGreaterThanOrEqual(before.gap_seconds!);
});
