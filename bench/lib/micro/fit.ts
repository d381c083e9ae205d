import { readdirSync, readFileSync } from 'node:fs';

/** CPU microseconds of all threads of the processes so far. `stat` has ticks of 10 ms, `schedstat` nanoseconds. */
export function cpuUs(pids: number[]): number {
  return pids.flatMap(threadsOf).reduce((sum, file) => sum + threadUs(file), 0);
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}/schedstat`);
  } catch {
    return []; // it has ended
  }
}

function threadUs(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8').split(' ')[0]) / 1000;
  } catch {
    return 0; // it has ended
  }
}

/** A line through points `[items, microseconds]`, by least squares: what a batch costs, and what each item adds. */
export function fit(points: [number, number][]): { batchUs: number; itemUs: number } {
  const count = points.length;
  const sum = (of: (point: [number, number]) => number) => points.reduce((total, one) => total + of(one), 0);
  const [x, y] = [sum(([items]) => items), sum(([, us]) => us)];
  const itemUs =
    (count * sum(([items, us]) => items * us) - x * y) / (count * sum(([items]) => items ** 2) - x * x);
  return { batchUs: (y - itemUs * x) / count, itemUs };
}
