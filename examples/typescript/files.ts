/** The files of the programs about lists: a table of suppliers to read, and a file that each run goes on with. */
import { existsSync, readFileSync, truncateSync } from 'node:fs';

/** The first number of nine digits in each line of a file, each once. */
export function nifsOf(path: string): string[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  return [...new Set(lines.flatMap((line) => /(?<!\d)\d{9}(?!\d)/.exec(line)?.[0] ?? []))];
}

/** The lines that runs before this one have written. The last one is cut off if its run was killed: it is removed. */
export function completeLines(path: string): string[] {
  if (!existsSync(path)) return [];
  const data = readFileSync(path);
  const end = data.lastIndexOf('\n') + 1;
  truncateSync(path, end);
  return data.subarray(0, end).toString().split('\n').slice(0, -1);
}
