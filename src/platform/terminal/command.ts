/**
 * The parts that all commands share: resources and exit codes (here), progress, interruption, and text that is safe for a terminal.
 * An answer goes to stdout, everything else to stderr; a failure is one line.
 */
import { once } from 'node:events';
import { constants, getPriority, setPriority } from 'node:os';
import type { Command } from 'commander';
import { type Config, readConfig } from '../config/config.ts';
import { ConfigError, userName } from '../config/environment.ts';
import { adviceOf, messageOf, RefusedError } from '../errors.ts';
import { withoutSecrets } from '../observability/redaction.ts';
import { orAborted } from '../runtime/or-aborted.ts';
import { openStores, type Stores } from '../stores/stores.ts';
import { SECOND } from '../units.ts';
import { watchInterrupts } from './interrupt.ts';
import { printable, printableJson } from './text.ts';

export type CommandTools = Omit<Stores, 'openPool' | 'close'> & {
  config: Config;
  /** Aborts on Ctrl-C, SIGTERM and SIGHUP. A second Ctrl-C ends the process at once. */
  signal: AbortSignal;
  /** The author of changes in the ledger, e.g. `cli:maria`. */
  actor: string;
};

/** Commander's arguments of an action: the command's own, its options, the command. */
// biome-ignore lint/suspicious/noExplicitAny: commander types its arguments so
export type ActionArguments = any[];

/** Exit codes (docs/commands.md). */
const EXIT_FAILED = 1;
export const EXIT_USAGE = 2;

/**
 * Adds the answer of a command to its `--help`, from which docs/commands.md is made.
 * @param answer the members of its JSON (`?` marks those that may be missing), and lines that say what else it means
 */
export function declareAnswer(command: Command, answer: string): Command {
  return command.addHelpText('after', `\nAnswer:\n  ${answer.replaceAll('\n', '\n  ')}`);
}

/**
 * Defines the action of a command: it opens the stores, runs the command, and prints the answer in the words of `describe`. Adds
 * `--json` to the command, which prints the answer as one JSON document.
 *
 * @param answer for {@link declareAnswer}
 *
 * A failure prints one line on stderr and nothing on stdout. The exit code is 1, or 2 if the environment makes no sense. A command
 * with a long answer prints it itself ({@link print}) and returns none. It may fail in the middle.
 */
export function defineCommand<Answer>(
  command: Command,
  answer: string,
  run: (tools: CommandTools, ...args: ActionArguments) => Promise<Answer>,
  describe?: (answer: Answer) => string,
): Command {
  const work = (_: AbortSignal, ...args: ActionArguments) => withTools((tools) => run(tools, ...args));
  return defineAnswer(command, answer, work, describe);
}

/** {@link defineCommand} without the stores, for a command that opens them itself. */
export function defineAnswer<Answer>(
  command: Command,
  answer: string,
  run: (signal: AbortSignal, ...args: ActionArguments) => Promise<Answer>,
  describe: (answer: Answer) => string = String,
): Command {
  return declareAnswer(command, answer)
    .option('--json', 'print one JSON document')
    .action((...args: ActionArguments) =>
      interruptible(async (signal) => {
        const { json } = command.opts<{ json?: boolean }>();
        const answer = await run(signal, ...args);
        if (answer === undefined) return;
        await printAnswer(`${json === true ? printableJson(answer) : describe(answer)}\n`);
      }),
    );
}

/**
 * Prints a part of a long answer. It waits for a slow reader, so that the rest does not gather in memory.
 * @throws when stdout can't be written; the signal's reason when the command is interrupted
 */
export async function print(part: string | Uint8Array): Promise<void> {
  interrupts?.throwIfAborted();
  await write(part);
}

/** Prints the answer of a command that has done its work. A late interruption ends only the wait for its reader. */
async function printAnswer(text: string): Promise<void> {
  await write(text).catch((error) => {
    throw error === interrupts?.reason ? unwritten(messageOf(error)) : error;
  });
}

async function write(part: string | Uint8Array): Promise<void> {
  if (process.stdout.write(part)) return;
  const drained = once(process.stdout, 'drain');
  await (interrupts === null ? drained : orAborted(drained, interrupts));
}

/** Aborts on Ctrl-C, SIGTERM and SIGHUP; `null` means that no command runs. */
let interrupts: AbortSignal | null = null;

/** Runs a command, or a part of one, which Ctrl-C, SIGTERM and SIGHUP interrupt. */
async function interruptible<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  if (interrupts !== null) return run(interrupts);
  const { signal, release } = watchInterrupts(new RefusedError('interrupted'));
  interrupts = signal;
  try {
    return await run(signal);
  } finally {
    interrupts = null;
    release();
  }
}

/** Whether the process runs one command and ends. A test's goes on. */
let isOwnProcess = false;

/** Runs a command with the stores open. */
export function withTools<Answer>(run: (tools: CommandTools) => Promise<Answer>): Promise<Answer> {
  return interruptible(async (signal) => {
    const config = readConfig();
    const onMade = (line: string) => process.stderr.write(`${printable(line)}\n`);
    const stores = await openStores(config, { signal, onMade });
    // A service on the same machine comes first. An embedded Postgres has its priority by now.
    if (isOwnProcess) giveWay();
    try {
      return await run({ ...stores, config, signal, actor: `cli:${userName()}` });
    } finally {
      await stores.close();
    }
  });
}

/** A process that began with a lower priority, as by `nice`, keeps it. Only root may raise one. */
function giveWay(): void {
  const { PRIORITY_BELOW_NORMAL } = constants.priority;
  if (getPriority() < PRIORITY_BELOW_NORMAL) setPriority(PRIORITY_BELOW_NORMAL);
}

/** Prints the first error's one line and sets the exit code. An error of stdout also fails the `print` that waits for it. */
export function fail(error: unknown): void {
  if (process.exitCode) return;
  process.stderr.write(`error: ${withoutSecrets(printable(adviceOf(error)))}\n`);
  process.exitCode = error instanceof ConfigError ? EXIT_USAGE : EXIT_FAILED;
}

/** {@link print} has waited for a slow reader, so only short lines are left to write at the end of the process. */
const END_TIMEOUT_MS = 2 * SECOND;

function unwritten(reason: string): RefusedError {
  return new RefusedError(`the answer could not be written: ${reason}`);
}

/**
 * Runs the work of a process, and ends it with its exit code once the output is written, even if connections are open. The kernel
 * holds a connection to a lost host for minutes, and a nightly job waits for the exit.
 *
 * The reader of the answer may have ended (`| head`), or the disk is full. That is one line, not a stack, and exit code 1.
 */
export async function runToExit(work: () => Promise<void>): Promise<never> {
  isOwnProcess = true;
  const outputs = [process.stdout, process.stderr].map((stream) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    stream.on('error', (error) => {
      if (stream === process.stdout) fail(unwritten(messageOf(error)));
      resolve();
    });
    return { stream, failed: promise };
  });
  await work();
  // Stdout first, because its error is printed on stderr. Bun 1.4.5 doesn't call back `end` of a file that could not be written.
  for (const { stream, failed } of outputs) {
    const ended = new Promise<void>((resolve) => stream.end(resolve));
    await Promise.race([failed, ended, Bun.sleep(END_TIMEOUT_MS)]);
  }
  process.exit();
}

/** The command of that name, which another feature has defined before (src/main.ts). */
export function existingCommand(program: Command, name: string): Command {
  return program.commands.find((command) => command.name() === name)!;
}
