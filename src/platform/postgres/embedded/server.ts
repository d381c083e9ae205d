/**
 * Finds Postgres, starts it by `pg_ctl`, and stops it. Postgres has the lock `running` for as long as one of its processes
 * lives, so no other process is ever taken for it. While the lock is held, `postmaster.pid` is of this Postgres.
 */
import { closeSync, openSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { MIB, MINUTE, SECOND } from '../../units.ts';
import { checkDatabase, checkVersion, dataArgument, initializeCluster } from './database.ts';
import { explainProgram } from './embedded-errors.ts';
import { chooseLauncher } from './launcher.ts';
import { openLockFile } from './lock-file.ts';
import { giveToOwner, type Layout } from './paths.ts';
import {
  chooseSocketFolder,
  isListening,
  readEndpoint,
  requireSameNamespace,
  socketFiles,
  socketSettings,
  writeEndpoint,
} from './socket.ts';

const POLL_MS = 10;
/** How long a Postgres that is ready may not answer. */
const PATIENCE_MS = 30 * SECOND;
/** Recovery after a crash may take minutes. A start that takes longer than this has another problem. */
const START_TIMEOUT_MS = 10 * MINUTE;
const SHUTDOWN_MS = 30 * SECOND;
const EXIT_SHUTDOWN_MS = 3 * SECOND;
/** A start moves a longer log aside. */
const MAX_LOG_BYTES = 8 * MIB;
/** Settings for a service that has this machine's Postgres to itself; the rest are Postgres's defaults. */
const SETTINGS = {
  max_connections: '100',
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
  log_checkpoints: 'off',
  // Statements and details hold names, NIFs and key hashes, which don't belong in a log.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
};

/** A Postgres that runs, by its `postmaster.pid`. */
interface Postmaster {
  /** 0 for a moment at its start. */
  pid: number;
  status: 'starting' | 'ready' | 'stopping';
}

/**
 * The data directory's Postgres if it runs, in any status. Call it with the mutex held.
 *
 * @throws Error if it runs in another container: it can neither be reached nor stopped from here
 */
export function findRunning(layout: Layout): Postmaster | null {
  const lock = openLockFile(layout, layout.running);
  const isFree = lock.tryExclusive();
  lock.close();
  if (isFree) return null;
  requireSameNamespace(layout);
  // Lines: PID, directory, start, port, socket's folder, address, shared memory, status.
  const [pid, , , , , , , status] = readPidFile(layout).split('\n');
  const known = (['ready', 'stopping'] as const).find((name) => status?.startsWith(name));
  return { pid: Number(pid), status: known ?? 'starting' };
}

/** Empty if there is none, as in the first moments of a start. */
function readPidFile({ cluster }: Layout): string {
  try {
    return readFileSync(join(cluster, 'postmaster.pid'), 'utf8');
  } catch {
    return '';
  }
}

export interface StartOptions {
  /** Gets one line for a start. */
  onLog: (line: string) => void;
  /** Ends waiting and starting. */
  signal?: AbortSignal | undefined;
}

/**
 * Makes sure that Postgres runs and answers, starting it if it doesn't. Call it with the mutex held.
 *
 * @returns the folder of its socket
 * @throws Error with one line when it can't be brought to answer; the signal's reason when aborted
 */
export async function ensureRunning(layout: Layout, options: StartOptions): Promise<string> {
  let patienceEnds = performance.now() + PATIENCE_MS;
  const startEnds = performance.now() + START_TIMEOUT_MS;
  let trouble = 'it ended again and again';
  for (;;) {
    options.signal?.throwIfAborted();
    const running = findRunning(layout);
    if (running === null) await startPostgres(layout, options);
    else if (running.status === 'ready') {
      const folder = readEndpoint(layout)?.socketFolder ?? layout.cluster;
      const failure = await checkDatabase(folder);
      if (failure === null) return folder;
      trouble = failure;
    } else {
      // Its starter or stopper was killed meanwhile. It finishes alone.
      trouble = `it has been ${running.status} for too long`;
    }
    const isStarting = running === null || running.status === 'starting';
    // Recovery may take long.
    if (isStarting) patienceEnds = Math.min(performance.now() + PATIENCE_MS, startEnds);
    if (performance.now() > patienceEnds) {
      const name = running === null ? 'Postgres' : `Postgres (PID ${running.pid})`;
      throw new Error(`the embedded ${name} in ${layout.home} can't be used: ${trouble}; see ${layout.log}`);
    }
    await Bun.sleep(POLL_MS);
  }
}

/**
 * Starts Postgres and waits until it is ready, making its data directory first if there is none.
 *
 * @throws Error with one line when it does not start
 */
async function startPostgres(layout: Layout, { onLog, signal }: StartOptions): Promise<void> {
  const launcher = chooseLauncher(layout);
  await initializeCluster(layout, launcher, signal);
  checkVersion(layout, launcher.majorVersion);
  const folder = chooseSocketFolder(layout, launcher.account);
  // Postgres takes its predecessor for alive if the PID in these files belongs to any process of the same user. Our lock is free, so
  // they are stale, unless that Postgres was started by hand or the lock was deleted. Without its file it would end itself.
  if (!(await isListening(layout, readPidFile(layout)))) {
    const stale = [join(layout.cluster, 'postmaster.pid'), ...socketFiles(folder)];
    for (const file of stale) rmSync(file, { force: true });
  }
  onLog(`starting the embedded Postgres in ${layout.home}`);
  const settings = { ...SETTINGS, ...socketSettings(layout, folder) };
  const options = Object.entries(settings).map(([name, value]) => `-c '${name}=${value}'`);
  const args = ['start', '--silent', '--wait', `--timeout=${START_TIMEOUT_MS / SECOND}`];
  args.push('-D', dataArgument(layout.cluster), '-o', options.join(' '));
  writeEndpoint(layout, folder);
  if (logBytes(layout) > MAX_LOG_BYTES) renameSync(layout.log, `${layout.log}.1`);
  const log = openSync(layout.log, 'a', 0o600);
  giveToOwner(layout, layout.log);
  const logStart = logBytes(layout);
  const lock = openLockFile(layout, layout.running);
  try {
    // It is free: `findRunning` has found it so, and no other process starts Postgres while we hold the mutex.
    lock.tryExclusive();
    const files = { stdout: log, inherited: lock.fd };
    // Interrupted, pg_ctl stops the Postgres that it starts.
    const { code } = await launcher.run('pg_ctl', args, { cwd: layout.cluster, ...files, signal });
    if (code === 0) return;
  } finally {
    closeSync(log);
    lock.close();
  }
  signal?.throwIfAborted();
  const output = readFileSync(layout.log).toString('utf8', logStart);
  if (findRunning(layout) !== null)
    throw new Error(`the embedded Postgres is not ready after 10 minutes: see ${layout.log}`);
  const { message } = explainProgram(layout.dataDir, 'the embedded Postgres does not start', output);
  throw new Error(`${message} (see ${layout.log})`);
}

/**
 * Stops Postgres if it runs and waits until all of it has ended: open transactions are rolled back, everything is written. By
 * a signal and not by `pg_ctl stop`, which waits for the first process only. Call it with the mutex held.
 *
 * @throws Error when it does not stop
 */
export async function stopPostgres(layout: Layout): Promise<void> {
  interrupt(layout);
  for (let waitedMs = 0; waitedMs < SHUTDOWN_MS; waitedMs += POLL_MS) {
    if (findRunning(layout) === null) return;
    await Bun.sleep(POLL_MS);
  }
  const pid = findRunning(layout)?.pid;
  throw new Error(`the embedded Postgres (PID ${pid}) does not stop: end it with \`kill -9 ${pid}\``);
}

/** The same for a process that is exiting and can't wait for promises. It waits three seconds at most. */
export function stopPostgresSync(layout: Layout): void {
  interrupt(layout);
  for (let waitedMs = 0; waitedMs < EXIT_SHUTDOWN_MS; waitedMs += POLL_MS) {
    if (findRunning(layout) === null) return;
    Bun.sleepSync(POLL_MS);
  }
}

/** Asks for a fast shutdown, which does not wait for clients. */
function interrupt(layout: Layout): void {
  const pid = findRunning(layout)?.pid ?? 0;
  try {
    // 0 and negative numbers are groups of processes.
    if (pid > 1) process.kill(pid, 'SIGINT');
  } catch {
    // It has ended meanwhile.
  }
}

const logBytes = ({ log }: Layout) => statSync(log, { throwIfNoEntry: false })?.size ?? 0;
