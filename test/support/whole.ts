/**
 * The whole application, for tests that drive it. Its files are named by computed paths, which `bun test --changed` does not follow:
 * otherwise a change of any file of `src` would select every test that starts a service or runs a command.
 */
import { join } from 'node:path';

/** Where the checkout is: commands run here. */
export const ROOT = join(import.meta.dir, '../..');

/** The command line's entry. */
export const MAIN = join(ROOT, 'src/main.ts');

export const importMain = (): Promise<typeof import('../../src/main.ts')> => import(MAIN);

/** The function of that name in `src/service/serve.ts`. */
export const startService: typeof import('../../src/service/serve.ts').startService = async (...given) =>
  (await import(join(ROOT, 'src/service/serve.ts'))).startService(...given);

/** For a stand-in of the service. */
export const importAnswers = (): Promise<typeof import('../../src/http/answer.ts')> =>
  import(join(ROOT, 'src/http/answer.ts'));

/** The pages of the dashboard. */
export const importPages = (): Promise<typeof import('../../src/dashboard/routes.ts')> =>
  import(join(ROOT, 'src/dashboard/routes.ts'));

/** The tools of agents. */
export const importTools = (): Promise<typeof import('../../src/mcp/tools.ts')> =>
  import(join(ROOT, 'src/mcp/tools.ts'));

/** The problems, which have a page each. */
export const importProblems = (): Promise<typeof import('../../src/http/problems.ts')> =>
  import(join(ROOT, 'src/http/problems.ts'));
