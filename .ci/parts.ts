/** Helpers that the steps of `.ci/run` share. */
import { join } from 'node:path';
import { MINUTE } from '../src/platform/units.ts';
import { until } from '../test/support/until.ts';

export const ROOT = join(import.meta.dir, '..');

/** The demo is ready within this time: it makes its Postgres and its examples first. */
const DEMO_TIMEOUT_MS = 2 * MINUTE;

/** Waits until a service is ready, also on a slow machine. @throws Error after a minute */
export const untilReady = (url: string) =>
  until(
    `${url} is ready`,
    async () => (await fetch(`${url}/health/ready`).catch(() => null))?.ok ?? false,
    MINUTE,
  );

/** Processes that end with the step. @param folder gets their output, and is where they run by default */
export function createProcesses(folder: string) {
  const processes: Bun.Subprocess[] = [];
  return {
    start(command: string[], env: Record<string, string> = {}, cwd = ROOT): Bun.Subprocess {
      const child = Bun.spawn(command, {
        cwd,
        env: { PATH: process.env.PATH!, ...env },
        stdio: ['ignore', Bun.file(join(folder, `log-${processes.length}`)), 'inherit'],
      });
      processes.push(child);
      return child;
    },
    /** The last one first. */
    async stop(): Promise<void> {
      for (const child of processes.toReversed()) {
        child.kill('SIGTERM');
        await child.exited;
      }
    },
  };
}

/** Starts the demo on a free port of this machine. @param folder gets its data @param more further variables */
export function startDemo(folder: string, more: Record<string, string> = {}) {
  const environment: Record<string, string | undefined> = {
    ...process.env,
    HOST: '127.0.0.1',
    PORT: '0',
    DATA_DIR: join(folder, 'data'),
    ...more,
  };
  const demo = Bun.spawn([process.execPath, 'src/demo/demo.ts'], {
    cwd: ROOT,
    env: environment,
    stdout: 'pipe',
    stderr: 'inherit',
  });
  return {
    /** For commands on its data. */
    environment,
    /** The address and the test key that it prints. */
    async greeting(): Promise<{ url: string; key: string }> {
      const timer = setTimeout(() => demo.kill('SIGKILL'), DEMO_TIMEOUT_MS);
      let text = '';
      for await (const chunk of demo.stdout) {
        text += new TextDecoder().decode(chunk);
        const url = /running at (\S+?),/.exec(text)?.[1];
        const key = /^svc_test_\w+$/m.exec(text)?.[0];
        if (url === undefined || key === undefined || !text.includes('claude mcp add')) continue;
        clearTimeout(timer);
        return { url, key };
      }
      throw new Error('the demo has not started');
    },
    async stop(): Promise<void> {
      demo.kill('SIGTERM');
      await demo.exited;
    },
  };
}

/** The blocks of shell commands in a section of a document, in order. */
export async function shellBlocks(path: string, heading: string): Promise<string[]> {
  const sections = (await Bun.file(join(ROOT, path)).text()).split(/^#+ /m);
  const section = sections.find((text) => text.startsWith(`${heading}\n`));
  const blocks = [...(section ?? '').matchAll(/^```sh\n(.*?)^```$/gms)].map(([, commands]) => commands!);
  if (blocks.length === 0) throw new Error(`${path} has no commands below "${heading}"`);
  return blocks;
}

/** Runs commands of a document as they are, up to the first that fails. @throws Error with what they printed */
export async function runShell(
  commands: string,
  { cwd, env = {} }: { cwd: string; env?: Record<string, string> },
): Promise<void> {
  const shell = Bun.spawn(['bash', '-euxo', 'pipefail', '-c', commands], {
    cwd,
    env: { PATH: process.env.PATH!, HOME: process.env.HOME ?? cwd, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, code] = await Promise.all([shell.stdout.text(), shell.stderr.text(), shell.exited]);
  if (code !== 0) throw new Error(`commands ended with ${code}:\n${stdout}${stderr}`);
}
