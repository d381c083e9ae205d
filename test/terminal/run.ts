import { join } from 'node:path';
import { bareEnvironment, ROOT } from '../support/service.ts';

export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs `bun src/main.ts …` as a process of its own, with nothing of the service's in its environment but `env`. */
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
  return { code, stdout, stderr };
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
      const { code, stdout, stderr } = await run(...words, '--json');
      if (code !== 0 || !/^[^\n]+\n$/.test(stdout)) {
        throw new Error(`${words.join(' ')} → ${code}\n${stdout}\n${stderr}`);
      }
      return JSON.parse(stdout);
    },
    /** What a command that has to fail says, and how it ends; it must print nothing on stdout. */
    async refusal(...words: string[]): Promise<{ code: number; stderr: string }> {
      const { code, stdout, stderr } = await run(...words);
      if (code === 0 || stdout !== '') throw new Error(`${words.join(' ')} → ${code}\n${stdout}`);
      return { code, stderr };
    },
  };
}
