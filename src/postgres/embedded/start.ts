import type { ChildProcess } from 'node:child_process';
import { closeSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { MINUTE } from '../../units.ts';
import { findBinaries } from './binaries.ts';
import { initializeCluster } from './initialize.ts';
import { chooseLauncher } from './launcher.ts';
import { diskFull, type Layout, writePrivateFile } from './layout.ts';
import { openLog, readLogFrom } from './log.ts';
import { chooseFreePort } from './ports.ts';
import { clusterName, isPidTaken, readPostmaster } from './postmaster.ts';

const POLL_MS = 5;
/** Replaying the log after a crash takes as long as it takes; past this something else is wrong. */
export const START_TIMEOUT_MS = 10 * MINUTE;

/** Settings for a service that has this machine's Postgres to itself; the rest are Postgres's defaults. */
function settings(layout: Layout): Record<string, string> {
  return {
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
    // Statements and details hold names, NIFs and key hashes: they don't belong in a log.
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
  };
}

export interface StartOptions {
  /** False while other processes hold addresses with the last port: then only that port will do. */
  alone: boolean;
  onLog: (line: string) => void;
  signal?: AbortSignal | undefined;
}

/**
 * Starts Postgres, making its data directory first if there is none. Call it with the mutex held and after making
 * sure that none runs.
 *
 * @returns true when it is ready; false when it ended for a reason that passes (a port just taken, processes of its
 *   predecessor still going): look again, then call again.
 * @throws Error with one line when trying again is of no use.
 */
export async function startPostgres(layout: Layout, options: StartOptions): Promise<boolean> {
  const { launcher, binaries } = await chooseLauncher(await findBinaries(), layout);
  await initializeCluster(layout, binaries, launcher, options.signal);
  checkVersion(layout, binaries.majorVersion);
  const last = readEndpoint(layout);
  if (!options.alone && last !== null) checkNamespace(layout, last);
  removeMisleadingPidFile(layout);

  const port = !options.alone && last !== null ? last.port : await chooseFreePort(last?.port ?? null);
  options.onLog(`starting the embedded Postgres in ${layout.home} on port ${port}`);
  const log = openLog(layout);
  const args = ['-D', launcher.dataArgument(layout.cluster), '-p', String(port)];
  for (const [name, value] of Object.entries(settings(layout))) args.push('-c', `${name}=${value}`);
  let child: ChildProcess;
  try {
    // Detached: its own session, so neither Ctrl-C in our terminal nor our end stops it while others use it.
    const stdio = ['ignore' as const, log.fd, log.fd];
    child = launcher.run(binaries.postgres, args, { cwd: layout.cluster, stdio, detached: true });
  } finally {
    closeSync(log.fd);
  }
  child.unref();
  if (await isReady(layout, child, options.signal)) {
    const endpoint: Endpoint = { port, pidNamespace: pidNamespace() };
    writePrivateFile(layout, layout.endpoint, `${JSON.stringify(endpoint)}\n`);
    return true;
  }
  return judgeFailure(layout, readLogFrom(layout, log.bytes), { ...options, port });
}

/** Waits until the new process says that it is ready (true) or has ended (false). */
async function isReady(layout: Layout, child: ChildProcess, signal?: AbortSignal): Promise<boolean> {
  let ended = false;
  child.once('exit', () => {
    ended = true;
  });
  child.once('error', () => {
    ended = true;
  });
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (!ended) {
    signal?.throwIfAborted();
    const postmaster = readPostmaster(layout);
    if (postmaster?.pid === child.pid && postmaster?.status === 'ready') return true;
    if (performance.now() > deadline)
      throw new Error(`the embedded Postgres is not ready after 10 minutes: see ${layout.log}`);
    await Bun.sleep(POLL_MS);
  }
  return false;
}

function judgeFailure(layout: Layout, log: string, options: StartOptions & { port: number }): false {
  if (/No space left on device|Disk quota exceeded/.test(log)) throw diskFull(layout.dataDir);
  if (/Address already in use/.test(log)) {
    if (options.alone) return false;
    throw new Error(
      `port ${options.port} of the embedded Postgres, which running processes know, is taken by another program: ` +
        'end that program, or stop those processes and start again',
    );
  }
  if (/pre-existing shared memory block|lock file "postmaster\.pid" already exists/.test(log)) return false;
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
 * Postgres takes its predecessor for alive when the PID in a stale file belongs to any process of the same user, even
 * a zombie. We know better (it is called when none of ours runs), so the file goes; a PID that is free is left to
 * Postgres, which then also looks for the predecessor's shared memory.
 */
function removeMisleadingPidFile(layout: Layout): void {
  const stale = readPostmaster(layout);
  if (stale !== null && isPidTaken(stale.pid))
    rmSync(join(layout.cluster, 'postmaster.pid'), { force: true });
}

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
 * processes on one data directory would destroy it, so whoever can't see the other's must not start.
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
