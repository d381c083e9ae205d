import { SECOND } from '../../units.ts';
import { databaseUrl } from './database.ts';
import { ensureRunning } from './ensure-running.ts';
import { explainFileError, type Layout, prepareLayout } from './layout.ts';
import { type LockFile, openLockFile, takeMutex } from './locks.ts';
import { limitLog } from './log.ts';
import { isPostmasterAlive } from './postmaster.ts';
import { stopPostgres, stopPostgresNow } from './stop.ts';

export interface EmbeddedPostgresOptions {
  /** One line for each thing worth telling: a start, a recovery, a failed recovery. */
  onLog?: (line: string) => void;
  /** Ends waiting and starting; without effect once the promise is settled. */
  signal?: AbortSignal;
}

export interface EmbeddedPostgres {
  /** The service's database, for a role that is no superuser. Good until `close`, also after a crash. */
  url: string;
  /** Leaves; the last one to leave stops Postgres and waits until it is gone. May be called more than once. */
  close(): Promise<void>;
}

const WATCH_INTERVAL_MS = SECOND;
const LOG_CHECK_EVERY = 60;

/**
 * Joins the Postgres under `dataDir`, starting it (and on the first time making it) if nobody has; the last one to
 * close stops it (contract, "Command line"). Any number of processes may do so at once. Each holds a lock that the
 * kernel drops with the process, so a `kill -9` counts as leaving; Postgres then runs on until the next one to come
 * has left. While joined, a Postgres that dies is started again on the same port within a second or two.
 *
 * @throws Error with one line that says what to do (DATA_DIR can't be written, disk full, package missing, data of
 *   another Postgres version, no user to run as); the signal's reason when aborted.
 */
export async function openEmbeddedPostgres(
  dataDir: string,
  options: EmbeddedPostgresOptions = {},
): Promise<EmbeddedPostgres> {
  const { onLog = () => undefined, signal } = options;
  const layout = prepareLayout(dataDir);
  const releaseMutex = await takeMutex(layout, signal);
  const users = openLockFile(layout, layout.users);
  let postmaster: { pid: number; port: number };
  try {
    const alone = users.tryExclusive();
    users.release();
    users.tryShared();
    postmaster = await ensureRunning(layout, { alone, onLog, signal });
  } catch (error) {
    await stopIfLast(layout, users).catch(() => undefined);
    users.close();
    throw explainFileError(error, layout.dataDir);
  } finally {
    releaseMutex();
  }

  const stopWatching = watch(layout, postmaster.pid, onLog);
  const leaveAtExit = () => {
    leaveNow(layout, users);
  };
  process.once('exit', leaveAtExit);
  let closing: Promise<void> | undefined;
  const close = async () => {
    process.off('exit', leaveAtExit);
    await stopWatching();
    await leave(layout, users);
  };
  return {
    url: databaseUrl(layout, postmaster.port),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

async function leave(layout: Layout, users: LockFile): Promise<void> {
  try {
    const releaseMutex = await takeMutex(layout);
    try {
      await stopIfLast(layout, users);
    } finally {
      releaseMutex();
    }
  } finally {
    users.close();
  }
}

/** With the mutex held nobody can join, so nobody else's lease means nobody else. */
async function stopIfLast(layout: Layout, users: LockFile): Promise<void> {
  users.release();
  if (users.tryExclusive()) await stopPostgres(layout);
}

/** For a process that exits without closing: leaves if that is possible without waiting for others. */
function leaveNow(layout: Layout, users: LockFile): void {
  try {
    const mutex = openLockFile(layout, layout.mutex);
    users.release();
    if (mutex.tryExclusive() && users.tryExclusive()) stopPostgresNow(layout);
  } catch {
    // DATA_DIR is gone: nothing to leave.
  }
}

/** Starts Postgres again when it has died. Returns what ends that, after a start that is under way. */
function watch(layout: Layout, pid: number, onLog: (line: string) => void): () => Promise<void> {
  const ending = new AbortController();
  let watchedPid = pid;
  let ticks = 0;
  let recovering: Promise<void> | null = null;
  let lastComplaint = '';

  const recover = async () => {
    try {
      const releaseMutex = await takeMutex(layout, ending.signal);
      try {
        const options = { alone: false, onLog, signal: ending.signal };
        watchedPid = (await ensureRunning(layout, options)).pid;
        lastComplaint = '';
        onLog('the embedded Postgres had ended and runs again');
      } finally {
        releaseMutex();
      }
    } catch (error) {
      const complaint = error instanceof Error ? error.message : String(error);
      if (!ending.signal.aborted && complaint !== lastComplaint) onLog(complaint);
      lastComplaint = complaint;
    }
    recovering = null;
  };
  const tick = () => {
    if (recovering !== null) return;
    if (hasEnded(layout, watchedPid)) recovering = recover();
    else if (++ticks % LOG_CHECK_EVERY === 0) limitLogQuietly(layout);
  };
  const timer = setInterval(tick, WATCH_INTERVAL_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    ending.abort();
    await recovering;
  };
}

function hasEnded(layout: Layout, pid: number): boolean {
  try {
    return !isPostmasterAlive(layout, pid);
  } catch {
    return false; // The system can't tell now; the next second asks again.
  }
}

function limitLogQuietly(layout: Layout): void {
  try {
    limitLog(layout);
  } catch {
    // A full disk, most likely: the log is the least of its troubles, and the next minute tries again.
  }
}
