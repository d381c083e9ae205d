import { expect, spyOn, test } from 'bun:test';
import { RefusedError } from '../../../src/platform/errors.ts';
import { count, duration, showProgress, withProgress } from '../../../src/platform/terminal/progress.ts';

function stand(isTTY: boolean, width = 120) {
  let now = 0;
  let written = '';
  const progress = showProgress(
    {
      isTTY,
      columns: width,
      write(text) {
        written += text;
      },
    },
    () => now,
  );
  return {
    progress,
    pass: (ms: number) => {
      now += ms;
    },
    take: () => {
      const text = written;
      written = '';
      return text;
    },
  };
}

test('a terminal sees the phase, its share, rows and time left, redrawn in place', () => {
  const { progress, pass, take } = stand(true);
  progress.phase('reading names.csv');
  pass(10_000);
  progress.update(250_000, 0.25);
  expect(take()).toBe('\r\u001b[Kreading names.csv\r\u001b[Kreading names.csv  25%  30 s left, 250 000 rows');
  progress.end(false);
  expect(take()).toEndWith('\n');
});

test('the line of work that is done ends at 100%, of work that failed or was interrupted where it was', () => {
  for (const [isComplete, shown] of [
    [true, '100%  400 rows'],
    [false, ' 40%  400 rows'],
  ] as const) {
    const { progress, take } = stand(true);
    progress.phase('reading names.csv');
    progress.update(1, 0.1);
    progress.phase('indexing');
    progress.update(400, 0.4);
    expect(take()).toContain('reading names.csv 100%  1 rows\n');
    progress.end(isComplete);
    expect(take()).toBe(`\r\u001b[Kindexing ${shown}\n`);
    progress.end(false);
    expect(take()).toBe('');
  }
});

test('elsewhere there is a plain line every five seconds, without escape sequences', () => {
  const { progress, pass, take } = stand(false);
  progress.phase('indexing');
  pass(4_999);
  progress.update(1, 0.1);
  expect(take()).toBe('');
  pass(1);
  progress.update(500, 0.5);
  expect(take()).toBe('indexing  50%  5 s left, 500 rows\n');
  pass(1_000);
  progress.update(600, 0.6);
  progress.phase('checking the index');
  progress.end(false);
  expect(take()).toBe('');
});

test.each([
  80,
  // As some terminals say that know none.
  0,
])(
  'on a pipe nothing is said about the time left; a line stays within 80 columns of a terminal of %p',
  (width) => {
    const { progress, pass, take } = stand(true, width);
    progress.phase('x'.repeat(200));
    pass(3_000);
    progress.update(10, null);
    const lines = take().split('\r\u001b[K').slice(1);
    expect(lines.every((line) => line.length === 79)).toBe(true);
    progress.phase('reading standard input');
    take();
    pass(3_000);
    progress.update(30, null);
    expect(take()).toBe('\r\u001b[Kreading standard input  3 s, 30 rows');
    progress.end(false);
  },
);

test('names from files reach the terminal without their control characters', () => {
  const { progress, take } = stand(true);
  progress.phase('reading \u001b[31mred\u0007.csv');
  progress.note('warning: \u001b]0;title\u0007');
  progress.end(false);
  expect(take().replaceAll('\r\u001b[K', '')).not.toMatch(/[\u0007\u001b]/);
});

test('counts and durations read easily', () => {
  expect([0, 999, 1000, 1234567].map(count)).toEqual(['0', '999', '1 000', '1 234 567']);
  expect([400, 59_400, 75_000, 3_700_000].map(duration)).toEqual(['0 s', '59 s', '1 min 15 s', '1 h 1 min']);
});

test('the time left is that of the phase, at its own pace', () => {
  const { progress, pass, take } = stand(false);
  progress.phase('reading names.csv');
  pass(5_000);
  progress.update(50, 0.5);
  expect(take()).toBe('reading names.csv  50%  5 s left, 50 rows\n');
  progress.phase('storing the rows');
  pass(6_000);
  progress.update(0, null);
  expect(take()).toBe('storing the rows  6 s\n');
  progress.phase('indexing');
  pass(10_000);
  progress.update(50, 0.25);
  expect(take()).toBe('indexing  25%  30 s left, 50 rows\n');
  pass(100_000);
  progress.update(99_999, 0.999_99);
  expect(take()).toBe('indexing  99%  1 min 50 s, 99 999 rows\n');
  progress.end(true);
  expect(take()).toBe('');
});

test('an interruption is answered at once, and says at the end that nothing has changed', async () => {
  const written: string[] = [];
  const stderr = spyOn(process.stderr, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  const controller = new AbortController();
  const work = withProgress(async () => {
    controller.abort(new RefusedError('interrupted'));
    expect(written.join('')).toContain('stopping (Ctrl-C once more ends it at once)\n');
    throw controller.signal.reason;
  }, controller.signal);
  const message = await work.catch((error: Error) => error.message);
  stderr.mockRestore();
  expect(message).toBe('interrupted: nothing has changed');
});

test('work that fails after an interruption by itself, or is done, is answered as it is', async () => {
  const stderr = spyOn(process.stderr, 'write').mockImplementation(() => true);
  const controller = new AbortController();
  controller.abort(new RefusedError('interrupted'));
  const failing = withProgress(() => Promise.reject(new RefusedError('the disk is full')), controller.signal);
  expect(await failing.catch((error: Error) => error.message)).toBe('the disk is full');
  expect(await withProgress(async () => 'done', controller.signal)).toBe('done');
  stderr.mockRestore();
});
