import {
  closeSync,
  copyFileSync,
  openSync,
  readFileSync,
  readlinkSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { KIB, MIB, MINUTE, SECOND } from '../../units.ts';
import { dataArgument, initializeCluster } from './cluster.ts';
import { checkDatabase } from './database.ts';
import { chooseLauncher } from './launcher.ts';
import { diskFull, giveToOwner, type Layout, writePrivateFile } from './layout.ts';
import {
  clusterName,
  findRunning,
  isPidTaken,
  isPostmasterAlive,
  type Postmaster,
  readPostmaster,
} from './postmaster.ts';

/** Starts Postgres by `pg_ctl`, and stops it. */

const POLL_MS = 10;
const RETRY_MS = 100;
/** How long a Postgres that is ready may not answer, or a predecessor's processes may linger. */
const PATIENCE_MS = 30 * SECOND;
/** Recovery after a crash may take minutes. A start that takes longer than this has another problem. */
const START_TIMEOUT_MS = 10 * MINUTE;
const FAST_SHUTDOWN_MS = 30 * SECOND;
const IMMEDIATE_SHUTDOWN_MS = 10 * SECOND;
const EXIT_SHUTDOWN_MS = 3 * SECOND;
/** Postgres's log keeps at most this much, and its predecessor as much again. */
const MAX_LOG_BYTES = 8 * MIB;
/**
 * Below the ports that systems hand out to outgoing connections (Linux from 32768, macOS from 49152). While Postgres is
 * down, a client that reconnects could otherwise be given that very port and connect to itself.
 */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;

/** Settings for a service that has this machine's Postgres to itself; the rest are Postgres's defaults. */
const settings = (layout: Layout): Record<string, string> => ({
  listen_addresses: '127.0.0.1',
  // TCP only: a socket's path is limited to 107 bytes, a checkout's is not.
  unix_socket_directories: '',
  cluster_name: clusterName(layout),
  max_connections: '100',
  // Any local user can connect. A connection without a password takes one of the hundred for this long, not 60 s.
  authentication_timeout: '5s',
  shared_buffers: '128MB',
  huge_pages: 'off',
  fsync: 'on',
  synchronous_commit: 'on',
  max_wal_size: '2GB',
  // Nothing replicates from here; a bulk load into a new table then skips the log.
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',
  jit: 'off',
  TimeZone: 'UTC',
  log_timezone: 'UTC',
  password_encryption: 'scram-sha-256',
  log_checkpoints: 'off',
  // Statements and details hold names, NIFs and key hashes, which don't belong in a log.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
});

export interface StartOptions {
  /** False while other processes hold addresses with the last port: then only that port will do. */
  alone: boolean;
  onLog: (line: string) => void;
  signal?: AbortSignal | undefined;
}

/**
 * Makes sure that Postgres runs and answers, starting it if it doesn't. Call it with the mutex held.
 *
 * @throws Error with one line when it can't be brought to answer; the signal's reason when aborted
 */
export async function ensureRunning(layout: Layout, options: StartOptions): Promise<Postmaster> {
  let patienceEnds = performance.now() + PATIENCE_MS;
  const startEnds = performance.now() + START_TIMEOUT_MS;
  let trouble = 'it ended again and again';
  for (;;) {
    options.signal?.throwIfAborted();
    const running = findRunning(layout);
    if (running === null) {
      if (await startPostgres(layout, options)) continue;
      await Bun.sleep(RETRY_MS);
    } else if (running.status === 'ready') {
      const failure = await checkDatabase(layout, running.port);
      if (failure === null) return running;
      trouble = failure;
      await Bun.sleep(RETRY_MS);
    } else {
      // Its starter or stopper was killed meanwhile. It finishes alone, and recovery may take long.
      trouble = `it has been ${running.status} for too long`;
      if (running.status === 'starting') patienceEnds = Math.min(performance.now() + PATIENCE_MS, startEnds);
      await Bun.sleep(POLL_MS);
    }
    if (performance.now() > patienceEnds) {
      const name = running === null ? 'Postgres' : `Postgres (PID ${running.pid})`;
      throw new Error(`the embedded ${name} in ${layout.home} can't be used: ${trouble}; see ${layout.log}`);
    }
  }
}

/**
 * Starts Postgres and waits until it is ready, making its data directory first if there is none.
 *
 * @returns false when it ended for a reason that passes (a port just taken, processes of its predecessor still going):
 *   look again, then call again
 * @throws Error with one line when trying again is of no use
 */
async function startPostgres(layout: Layout, { alone, onLog, signal }: StartOptions): Promise<boolean> {
  const launcher = await chooseLauncher(layout);
  await initializeCluster(layout, launcher, signal);
  checkVersion(layout, launcher.majorVersion);
  const last = readEndpoint(layout);
  if (!alone && last !== null) checkNamespace(layout, last);
  removeMisleadingPidFile(layout);

  const port = !alone && last !== null ? last.port : await chooseFreePort(last?.port ?? null);
  onLog(`starting the embedded Postgres in ${layout.home} on port ${port}`);
  const options = Object.entries(settings(layout)).map(([name, value]) => `-c '${name}=${value}'`);
  const args = ['start', '--silent', '--wait', `--timeout=${START_TIMEOUT_MS / SECOND}`];
  args.push('-D', dataArgument(layout.cluster), '-o', `-p ${port} ${options.join(' ')}`);
  limitLog(layout);
  const fd = openSync(layout.log, 'a', 0o600);
  giveToOwner(layout, layout.log);
  const logBytes = sizeOf(layout.log);
  try {
    // Interrupted, pg_ctl stops the Postgres that it starts.
    const { code } = await launcher.run('pg_ctl', args, { cwd: layout.cluster, stdout: fd, signal });
    if (code === 0) {
      const endpoint: Endpoint = { port, pidNamespace: pidNamespace() };
      writePrivateFile(layout, layout.endpoint, `${JSON.stringify(endpoint)}\n`);
      return true;
    }
  } finally {
    closeSync(fd);
  }
  signal?.throwIfAborted();
  throwUnlessTransient(layout, readLogFrom(layout, logBytes), { alone, port });
  return false;
}

/** @throws Error when the start failed for a reason that trying again does not mend */
function throwUnlessTransient(
  layout: Layout,
  log: string,
  { alone, port }: { alone: boolean; port: number },
) {
  if (/No space left on device|Disk quota exceeded/.test(log)) throw diskFull(layout.dataDir);
  if (/Address already in use/.test(log)) {
    if (alone) return;
    throw new Error(
      `port ${port} of the embedded Postgres, which running processes know, is taken by another program: ` +
        'end that program, or stop those processes and start again',
    );
  }
  if (/pre-existing shared memory block|lock file "postmaster\.pid" already exists/.test(log)) return;
  if (findRunning(layout) !== null)
    throw new Error(`the embedded Postgres is not ready after 10 minutes: see ${layout.log}`);
  const reason =
    log.match(/(?:FATAL|PANIC): +(.*)/)?.[1] ?? (log.trim().split('\n').at(-1) || 'it gave no reason');
  throw new Error(`the embedded Postgres does not start: ${reason.trim()} (see ${layout.log})`);
}

function checkVersion(layout: Layout, binariesMajor: number): void {
  const dataMajor = Number.parseInt(readFileSync(join(layout.cluster, 'PG_VERSION'), 'utf8'), 10);
  if (dataMajor === binariesMajor) return;
  throw new Error(
    `${layout.cluster} was written by Postgres ${dataMajor} and can't be read by Postgres ${binariesMajor}: dump it ` +
      'with the release of this service that wrote it, set DATA_DIR to a new directory, and restore the dump there',
  );
}

/**
 * Postgres takes its predecessor for alive when the PID in a stale file belongs to any process of the same user, even a
 * zombie. Ours does not run when this is called, so the file goes. A PID that is free is left to Postgres, which then also
 * looks for the predecessor's shared memory.
 */
function removeMisleadingPidFile(layout: Layout): void {
  const stale = readPostmaster(layout);
  if (stale !== null && isPidTaken(stale.pid))
    rmSync(join(layout.cluster, 'postmaster.pid'), { force: true });
}

/** The last start. */
interface Endpoint {
  port: number;
  pidNamespace: string;
}

function readEndpoint(layout: Layout): Endpoint | null {
  try {
    const { port, pidNamespace } = JSON.parse(readFileSync(layout.endpoint, 'utf8')) as Partial<Endpoint>;
    return Number.isInteger(port) ? { port: port as number, pidNamespace: pidNamespace ?? '' } : null;
  } catch {
    return null;
  }
}

/**
 * From inside a container a Postgres outside it can't be seen, though the locks on the shared files can. Two Postgres
 * processes would destroy the data directory, so a process that can't see the other's must not start one.
 */
function checkNamespace(layout: Layout, last: Endpoint): void {
  if (last.pidNamespace === pidNamespace()) return;
  throw new Error(
    `the embedded Postgres in ${layout.home} is used from another container or from outside this one: ` +
      'run all commands in the same place, or set DATABASE_URL',
  );
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

/** A port of 127.0.0.1 that is free at this moment, preferably the given one. */
async function chooseFreePort(preferred: number | null): Promise<number> {
  if (preferred !== null && (await isPortFree(preferred))) return preferred;
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    if (await isPortFree(port)) return port;
  }
  throw new Error(`no port of 127.0.0.1 between ${FIRST_PORT} and ${LAST_PORT} is free for Postgres`);
}

function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/**
 * Stops Postgres if it runs and waits until it has ended: open transactions are rolled back, everything is written. By
 * signals and not by `pg_ctl stop`, which believes any PID in `postmaster.pid`. Call it with the mutex held.
 *
 * @throws Error when it neither stops nor can be stopped at once
 */
export async function stopPostgres(layout: Layout): Promise<void> {
  const pid = findRunning(layout)?.pid;
  if (pid === undefined) return;
  // SIGINT does not wait for clients. SIGQUIT does not write either; the next start replays the log.
  for (const [name, timeoutMs] of [
    ['SIGINT', FAST_SHUTDOWN_MS] as const,
    ['SIGQUIT', IMMEDIATE_SHUTDOWN_MS] as const,
  ]) {
    signal(pid, name);
    for (
      const deadline = performance.now() + timeoutMs;
      performance.now() < deadline;
      await Bun.sleep(POLL_MS)
    ) {
      if (!isPostmasterAlive(layout, pid)) return;
    }
  }
  throw new Error(`the embedded Postgres (PID ${pid}) does not stop: end it with \`kill -9 ${pid}\``);
}

/** The same for a process that is exiting and can't wait for promises. It waits three seconds at most. */
export function stopPostgresSync(layout: Layout): void {
  const pid = findRunning(layout)?.pid;
  if (pid === undefined) return;
  signal(pid, 'SIGINT');
  const deadline = performance.now() + EXIT_SHUTDOWN_MS;
  while (isPostmasterAlive(layout, pid) && performance.now() < deadline) Bun.sleepSync(POLL_MS);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended meanwhile.
  }
}

/** Moves a log that has grown too long aside. Postgres appends, so it continues at the new beginning. */
export function limitLog(layout: Layout): void {
  if (sizeOf(layout.log) <= MAX_LOG_BYTES) return;
  const previous = `${layout.log}.1`;
  copyFileSync(layout.log, previous);
  giveToOwner(layout, previous);
  truncateSync(layout.log, 0);
}

function readLogFrom(layout: Layout, fromByte: number): string {
  const bytes = Buffer.alloc(Math.min(Math.max(sizeOf(layout.log) - fromByte, 0), 64 * KIB));
  const fd = openSync(layout.log, 'r');
  try {
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, fromByte));
  } finally {
    closeSync(fd);
  }
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
