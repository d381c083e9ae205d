/** Commands of the command line, each run as a process. */
import { join } from 'node:path';

/** Where the checkout is: commands run here. */
export const ROOT = join(import.meta.dir, '../..');

/** The variables that a process needs to run at all; none of the service's. */
export function bareEnvironment(): Record<string, string> {
  return Object.fromEntries(
    ['PATH', 'HOME', 'TMPDIR', 'LANG']
      .map((name) => [name, process.env[name]] as const)
      .filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
  /** `stdout`, parsed; null when it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: each command answers something else
  json: any;
}

/** Runs `bun src/main.ts …` as a process and waits for its end. Of the service's variables it has only `env`. */
export async function runCommand(env: Record<string, string>, ...words: string[]): Promise<Outcome> {
  const child = Bun.spawn([process.execPath, join(ROOT, 'src/main.ts'), ...words], {
    cwd: ROOT,
    env: { ...bareEnvironment(), ...env },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr, json: parse(stdout) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // `--json` was not asked for, or the command failed: the test looks at the rest
  }
}

/** Commands on one database. @param further variables */
export function createCommandLine(databaseUrl: string, further: Record<string, string> = {}) {
  const env = { ...further, DATABASE_URL: databaseUrl };
  const run = (...words: string[]) => runCommand(env, ...words);
  return {
    run,
    /** The JSON answer of a command that has to succeed: one document on one line and nothing else. */
    // biome-ignore lint/suspicious/noExplicitAny: every test says itself what the answer has to be
    async json(...words: string[]): Promise<any> {
      const { code, stdout, stderr, json } = await run(...words, '--json');
      if (code !== 0 || !/^[^\n]+\n$/.test(stdout)) {
        throw new Error(`${words.join(' ')} → ${code}\n${stdout}\n${stderr}`);
      }
      return json;
    },
    /** What a command that has to fail says, and how it ends; it must print nothing on stdout. */
    async refusal(...words: string[]): Promise<{ code: number; stderr: string }> {
      const { code, stdout, stderr } = await run(...words);
      if (code === 0 || stdout !== '') throw new Error(`${words.join(' ')} → ${code}\n${stdout}`);
      return { code, stderr };
    },
  };
}
