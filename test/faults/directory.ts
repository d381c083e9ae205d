import { run } from '../../bench/lib/revision.ts';

/** Runs a command of the checkout with `--json`. @returns its document */
export async function runDirectory(
  checkout: string,
  environment: Record<string, string>,
  words: string[],
): Promise<Record<string, string>> {
  return JSON.parse(await run([process.execPath, 'src/main.ts', ...words, '--json'], checkout, environment));
}
