import { expect, test } from 'bun:test';
import { count, duration, showProgress } from '../../src/terminal/progress.ts';

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

test('a terminal sees a bar with the phase, rows, rate and time left, redrawn in place', () => {
  const { progress, pass, take } = stand(true);
  progress.phase('reading names.csv');
  pass(10_000);
  progress.update(250_000, 0.25);
  expect(take()).toBe(
    '\r\u001b[Kreading names.csv\r\u001b[Kreading names.csv [######------------------]  25%  250 000 rows, 25 000/s, 30 s left',
  );
  progress.end();
  expect(take()).toEndWith('\n');
});

test('the bar of work that is done ends at 100%, of work that failed or was interrupted where it was', () => {
  for (const [last, shown] of [
    ['finish', '[########################] 100%  400 rows'],
    ['end', '[##########--------------]  40%  400 rows'],
  ] as const) {
    const { progress, take } = stand(true);
    progress.phase('reading names.csv');
    progress.update(1, 0.1);
    progress.phase('indexing');
    progress.update(400, 0.4);
    expect(take()).toContain('reading names.csv [########################] 100%  1 rows\n');
    progress[last]();
    expect(take()).toBe(`\r\u001b[Kindexing ${shown}\n`);
    progress.end();
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
  expect(take()).toBe('indexing  50%  500 rows, 100/s, 5 s left\n');
  pass(1_000);
  progress.update(600, 0.6);
  progress.phase('checking the index');
  progress.end();
  expect(take()).toBe('');
});

test('on a pipe nothing is said about the time left; a line stays within the terminal’s width', () => {
  const { progress, pass, take } = stand(true, 80);
  progress.phase('x'.repeat(200));
  pass(3_000);
  progress.update(10, null);
  const lines = take().split('\r\u001b[K').slice(1);
  expect(lines.every((line) => line.length === 79)).toBe(true);
  progress.phase('reading standard input');
  take();
  pass(3_000);
  progress.update(30, null);
  expect(take()).toBe('\r\u001b[Kreading standard input  30 rows, 10/s, 3 s');
  progress.end();
});

test('a terminal that says it has 0 columns is taken for one of 80', () => {
  const { progress, take } = stand(true, 0);
  progress.phase('x'.repeat(200));
  expect(take()).toBe(`\r\u001b[K${'x'.repeat(79)}`);
  progress.end();
});

test('names from files reach the terminal without their control characters', () => {
  const { progress, take } = stand(true);
  progress.phase('reading \u001b[31mred\u0007.csv');
  progress.note('warning: \u001b]0;title\u0007');
  progress.end();
  expect(take().replaceAll('\r\u001b[K', '')).not.toMatch(/[\u0007\u001b]/);
});

test('counts and durations read easily', () => {
  expect([0, 999, 1000, 1234567].map(count)).toEqual(['0', '999', '1 000', '1 234 567']);
  expect([400, 59_400, 75_000, 3_700_000].map(duration)).toEqual(['0 s', '59 s', '1 min 15 s', '1 h 1 min']);
});
