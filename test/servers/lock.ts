import { closeSync, openSync } from 'node:fs';
import { EXCLUSIVE, tryFlock } from '../../src/platform/runtime/flock.ts';

const RETRY_MS = 250;

/**
 * Runs `work` while no other process on this machine has the lock of the same file. The lock ends with the process, so a killed one
 * leaves nothing to clean up.
 * @param onWait called once when somebody else has the lock.
 */
export async function withLock<T>(file: string, onWait: () => void, work: () => Promise<T>): Promise<T> {
  const fd = openSync(file, 'a');
  try {
    for (let attempt = 0; !tryFlock(fd, EXCLUSIVE); attempt += 1) {
      if (attempt === 0) onWait();
      await Bun.sleep(RETRY_MS);
    }
    return await work();
  } finally {
    closeSync(fd);
  }
}
