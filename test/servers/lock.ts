import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { EXCLUSIVE, tryFlock } from '../../src/platform/runtime/flock.ts';
import type { NativeContext } from './native.ts';

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

/**
 * The folder `name` of the cache, which `make` fills once. Everything happens in a temporary folder and under a lock: a run that is killed
 * leaves nothing that looks complete, and a second one waits.
 * @param make gets the temporary folder, and returns the one in it that is kept
 */
export async function keepOnce(
  { cache, say }: Pick<NativeContext, 'cache' | 'say'>,
  name: string,
  make: (temporary: string) => Promise<string>,
): Promise<string> {
  const home = join(cache, name);
  if (existsSync(home)) return home;
  const onWait = () => say(`waiting for another run that makes ${home}`);
  await withLock(`${home}.lock`, onWait, async () => {
    if (existsSync(home)) return;
    // Under the lock no other process works there: a killed one has left it.
    const temporary = `${home}.new`;
    await rm(temporary, { recursive: true, force: true });
    await mkdir(temporary);
    await rename(await make(temporary), home);
    await rm(temporary, { recursive: true });
  });
  return home;
}
