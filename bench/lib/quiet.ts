/** The benchmark fails if it waits longer than this for the lock. */
const LOCK_TIMEOUT_SECONDS = 1800;

/**
 * Does work under a lock on a file (`flock`), for machines that several people measure on.
 * @param how `shared` with other work that measures nothing, or `alone`
 * @param file `undefined` means no lock
 * @param signal ends the wait for the lock
 * @throws Error when the lock is not free in time, or the signal aborts
 */
export async function underLock<T>(
  file: string | undefined,
  how: 'shared' | 'alone',
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  if (file === undefined) return work();
  const mode = how === 'shared' ? '-s' : '-x';
  // `cat` keeps the lock until its input ends, also when this process is killed.
  const holder = Bun.spawn(
    ['flock', mode, '-w', String(LOCK_TIMEOUT_SECONDS), file, 'sh', '-c', 'echo; cat'],
    {
      stdin: 'pipe',
      stdout: 'pipe',
    },
  );
  const giveUp = () => holder.kill();
  signal.addEventListener('abort', giveUp, { once: true });
  const { done } = await holder.stdout.getReader().read();
  signal.removeEventListener('abort', giveUp);
  signal.throwIfAborted();
  if (done) throw new Error(`no lock on ${file} within ${LOCK_TIMEOUT_SECONDS} s`);
  try {
    return await work();
  } finally {
    await holder.stdin.end();
    await holder.exited;
  }
}
