/** Commands of the command line, each run as a process. */
import { spyOn } from 'bun:test';
import { join } from 'node:path';
import { importMain, MAIN, ROOT } from './whole.ts';

export { MAIN, ROOT };

/** The variables that a process needs to run at all, and the run's id (test/servers/left-behind.ts); none of the service's. */
export function bareEnvironment(): Record<string, string> {
  return Object.fromEntries(
    ['PATH', 'HOME', 'TMPDIR', 'LANG', 'TEST_RUN_ID']
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
export function runCommand(env: Record<string, string>, ...words: string[]): Promise<Outcome> {
  return runBun(env, MAIN, ...words);
}

let previous: Promise<unknown> = Promise.resolve();

/**
 * The same in this process, for tests of what a command answers: a process takes 0.2 s of CPU to start. Commands run one after
 * the other, because each has the process's environment and output to itself.
 */
export function runHere(env: Record<string, string>, ...words: string[]): Promise<Outcome> {
  return inTurn(() => captureProgram(env, words));
}

/** The same with a stdout that fails each write, as on a full disk. */
export function runHereUnwritten(env: Record<string, string>, ...words: string[]): Promise<Outcome> {
  return inTurn(() =>
    captureProgram(env, words, () => {
      queueMicrotask(() => process.stdout.emit('error', new Error('ENOSPC')));
      return false;
    }),
  );
}

function inTurn(run: () => Promise<Outcome>): Promise<Outcome> {
  const outcome = previous.then(run);
  previous = outcome.catch(() => {});
  return outcome;
}

async function captureProgram(
  env: Record<string, string>,
  words: string[],
  writeOut?: () => boolean,
): Promise<Outcome> {
  const { runProgram } = await importMain();
  const written = { stdout: '', stderr: '' };
  const capture = (name: 'stdout' | 'stderr') =>
    spyOn(process[name], 'write').mockImplementation((chunk) => {
      written[name] += chunk;
      return name === 'stdout' && writeOut ? writeOut() : true;
    });
  const spies = [capture('stdout'), capture('stderr')];
  const { env: before, exitCode } = process;
  const { isTTY } = process.stderr;
  process.env = { ...bareEnvironment(), ...env };
  process.stderr.isTTY = false;
  process.exitCode = 0;
  try {
    await runProgram(words);
    return { code: Number(process.exitCode), ...written, json: parse(written.stdout) };
  } finally {
    process.exitCode = exitCode ?? 0;
    process.env = before;
    process.stderr.isTTY = isTTY;
    for (const spy of spies) spy.mockRestore();
  }
}

/**
 * Kills a command, with SIGKILL, in place of one of its messages to Postgres or Elasticsearch: the same moment on every machine.
 * @param fraction of the messages that go out before, 0 to 1; `total` is their number ({@link countMessages})
 */
export async function killCommandAt(
  { fraction, total }: { fraction: number; total: number },
  env: Record<string, string>,
  ...words: string[]
): Promise<void> {
  const at = 1 + Math.floor(fraction * total);
  const { code, stderr } = await runWatched({ ...env, KILL_AT: String(at) }, words);
  if (code !== 128 + 9)
    throw new Error(`${words.join(' ')} → ${code}, not killed at message ${at}\n${stderr}`);
}

/** Runs a command. @returns how many messages it has sent to Postgres and Elasticsearch */
export async function countMessages(env: Record<string, string>, ...words: string[]): Promise<number> {
  const { code, stderr } = await runWatched(env, words);
  if (code !== 0) throw new Error(`${words.join(' ')} → ${code}\n${stderr}`);
  return Number(stderr.trimEnd().split('\n').at(-1));
}

const runWatched = (env: Record<string, string>, words: string[]) =>
  runBun(env, '--preload', join(import.meta.dir, 'kill-at.ts'), MAIN, ...words);

/** Runs `bun …` as a process and waits for its end. */
export async function runBun(env: Record<string, string>, ...words: string[]): Promise<Outcome> {
  const child = Bun.spawn([process.execPath, ...words], {
    cwd: ROOT,
    env: { ...bareEnvironment(), ...env },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const outcome = await outcomeOf(child);
  return { ...outcome, json: parse(outcome.stdout) };
}

/** Waits for the end of a process. */
export async function outcomeOf({ stdout, stderr, exited }: Bun.Subprocess<'ignore', 'pipe', 'pipe'>) {
  const [output, errors, code] = await Promise.all([stdout.text(), stderr.text(), exited]);
  return { code, stdout: output, stderr: errors };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // `--json` was not asked for, or the command failed: the test looks at the rest
  }
}

/** Commands on one database, run in this process. @param further variables */
export function createCommandLine(databaseUrl: string, further: Record<string, string> = {}) {
  const env = { ...further, DATABASE_URL: databaseUrl };
  const run = (...words: string[]) => runHere(env, ...words);
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
    /** The message and the end of a command that has to fail; it must print nothing on stdout. */
    async refusal(...words: string[]): Promise<{ code: number; stderr: string }> {
      const { code, stdout, stderr } = await run(...words);
      if (code === 0 || stdout !== '') throw new Error(`${words.join(' ')} → ${code}\n${stdout}`);
      return { code, stderr };
    },
  };
}
