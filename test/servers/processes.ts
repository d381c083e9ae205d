import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** Numeric owner of a server's process and files; absent when the tests don't run as root. */
export type ServerUser = { name: string; uid: number; gid: number };

export type Command = {
  command: string;
  args: string[];
  cwd?: string;
  env?: Record<string, string | undefined>;
  user?: ServerUser | undefined;
};

export type ServerProcess = ReturnType<typeof startProcess>;

const OUTPUT_TAIL_CHARACTERS = 4000;
const children = new Set<{ exited: Promise<number | null>; signal(signal: NodeJS.Signals): void }>();
let closed = false;

/**
 * Starts a command as the leader of a new process group, so that one signal reaches its children too
 * (Elasticsearch's launcher starts a second JVM, Postgres a process per connection).
 * @throws Error when the program can't be started, or when everything is being stopped.
 */
export function startProcess({ command, args, cwd, env, user }: Command) {
  if (closed) throw new Error(`${command}: not started, the servers are being stopped`);
  const child: ChildProcess = spawn(command, args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    ...(cwd ? { cwd } : {}),
    ...(user ? { uid: user.uid, gid: user.gid } : {}),
  });
  let tail = '';
  const keepTail = (chunk: Buffer | string) => {
    tail = (tail + chunk.toString()).slice(-OUTPUT_TAIL_CHARACTERS);
  };
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', keepTail);
  let gone = false;
  const exited = once(child, 'close')
    .then(([code]): number | null => code)
    .catch((error: Error) => {
      keepTail(error.message);
      return 127;
    })
    .finally(() => {
      gone = true;
      children.delete(started);
    });
  const started = {
    /** The exit code, or null after a signal. Never rejects. */
    exited,
    hasExited: () => gone,
    /** The last lines that it printed (stdout and stderr together), for error messages. */
    lastLines: () => tail.trim(),
    /** Signals the process and everything that it started. */
    signal: (signal: NodeJS.Signals) => signalGroup(child.pid, signal),
  };
  children.add(started);
  return started;
}

/**
 * Runs a command to its end.
 * @returns what it printed (the last 4,000 characters, stdout and stderr together), trimmed.
 * @throws Error with the command's last lines when it fails or takes longer than `timeoutMs`
 */
export async function run(command: Command, timeoutMs: number): Promise<string> {
  const child = startProcess(command);
  const timer = setTimeout(() => child.signal('SIGKILL'), timeoutMs);
  const code = await child.exited;
  clearTimeout(timer);
  if (code !== 0) {
    const why = code === null ? `killed (time limit ${timeoutMs / 1000} s)` : `exit code ${code}`;
    throw new Error(`${command.command} ${command.args.join(' ')}: ${why}\n${child.lastLines()}`);
  }
  return child.lastLines();
}

/** Stops a server: `signal` first, SIGKILL when it is still there after `graceMs`. */
export async function stopProcess(
  child: Pick<ServerProcess, 'exited' | 'signal'>,
  signal: NodeJS.Signals,
  graceMs = 3000,
) {
  child.signal(signal);
  const timer = setTimeout(() => child.signal('SIGKILL'), graceMs);
  await child.exited;
  clearTimeout(timer);
  // The leader is gone; a member of its group that outlived it goes as well.
  child.signal('SIGKILL');
}

/** Kills whatever is left (a download in the middle, an initdb) and lets nothing new start. */
export async function killEverything(): Promise<void> {
  closed = true;
  await Promise.all([...children].map((child) => stopProcess(child, 'SIGKILL')));
}

/** No new process from here on; those that run are stopped by their owners. */
export function refuseNewProcesses(): void {
  closed = true;
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (!pid) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // Nobody of the group is left.
  }
}
