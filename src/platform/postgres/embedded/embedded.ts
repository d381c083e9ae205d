/**
 * The embedded Postgres: `paths.ts` has its files, `lock-file.ts` its locks, `socket.ts` the way in. `database.ts` makes the data
 * directory and the service's database, `server.ts` starts and stops the server, `launcher.ts` runs the executables (also as root).
 */
import { databaseUrl } from './database.ts';
import { explainFileError } from './embedded-errors.ts';
import { type LockFile, openLockFile, withMutex } from './lock-file.ts';
import { hasCluster, type Layout, prepareLayout } from './paths.ts';
import { ensureRunning, type StartOptions, stopPostgres, stopPostgresSync } from './server.ts';

/**
 * Joins the Postgres under `dataDir`. The first participant makes and starts it, the last to close stops it (docs/commands.md),
 * in any number of processes at once.
 *
 * Each participant holds a lock that the kernel drops with the process, so a `kill -9` counts as leaving. Postgres then
 * runs on until the next participant has left. If Postgres itself is killed, the next participant starts it again on the same
 * socket, where all find it.
 *
 * @throws Error with one line that says what to do (DATA_DIR can't be written, disk full, package missing, data of
 *   another Postgres version, no user to run as); the signal's reason when aborted
 */
export async function openEmbeddedPostgres(dataDir: string, options: Partial<StartOptions> = {}) {
  const { onLog = () => undefined, signal } = options;
  const layout = prepareLayout(dataDir);
  const joining = withMutex(layout, () => join(layout, { onLog, signal }), signal);
  const { isNew, socketFolder, participants } = await joining.catch((error) => {
    throw explainFileError(error, layout.dataDir);
  });

  const leaveAtExit = () => leaveSync(layout, participants);
  process.once('exit', leaveAtExit);
  let closing: Promise<void> | undefined;
  const close = async () => {
    process.off('exit', leaveAtExit);
    await withMutex(layout, () => stopIfLast(layout, participants)).finally(participants.close);
  };
  return {
    /** The service's database, for a role that is no superuser. Good until `close`. */
    url: databaseUrl(socketFolder),
    /** Its folder, if this call has made it; otherwise `null`. */
    madeIn: isNew ? layout.home : null,
    /** Leaves; the last participant to leave stops Postgres and waits until it has ended. May be called more than once. */
    close: (): Promise<void> => {
      closing ??= close();
      return closing;
    },
  };
}

/** Call it with the mutex held. */
async function join(layout: Layout, options: StartOptions) {
  const participants = openLockFile(layout, layout.participants);
  participants.tryShared();
  try {
    const isNew = !hasCluster(layout);
    const socketFolder = await ensureRunning(layout, options);
    return { isNew, socketFolder, participants };
  } catch (error) {
    await stopIfLast(layout, participants).catch(() => undefined);
    participants.close();
    throw error;
  }
}

/** Nobody can join while the mutex is held, so an exclusive lock means that there is no other participant. */
async function stopIfLast(layout: Layout, participants: LockFile): Promise<void> {
  if (participants.tryExclusive()) await stopPostgres(layout);
}

/** For a process that exits without closing: leaves if that is possible without waiting for another process. */
function leaveSync(layout: Layout, participants: LockFile): void {
  try {
    const mutex = openLockFile(layout, layout.mutex);
    if (mutex.tryExclusive() && participants.tryExclusive()) stopPostgresSync(layout);
  } catch {
    // DATA_DIR was removed.
  }
}
