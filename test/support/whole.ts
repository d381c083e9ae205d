/**
 * The whole application, for tests that drive it. Its files are named by computed paths, which `bun test --changed` does not follow:
 * otherwise a change of any file of `src` would select every test that starts a service or runs a command.
 */
import { join } from 'node:path';

/** Where the checkout is: commands run here. */
export const ROOT = join(import.meta.dir, '../..');

/** The command line's entry. */
export const MAIN = join(ROOT, 'src/main.ts');

const SERVE = join(ROOT, 'src/service/serve.ts');

/** The function of that name in `src/main.ts`. */
export const runProgram: typeof import('../../src/main.ts').runProgram = async (...given) =>
  (await import(MAIN)).runProgram(...given);

/** The function of that name in `src/service/serve.ts`. */
export const startService: typeof import('../../src/service/serve.ts').startService = async (...given) =>
  (await import(SERVE)).startService(...given);
