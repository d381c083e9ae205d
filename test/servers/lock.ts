import { Database } from 'bun:sqlite';

const RETRY_MS = 250;

/**
 * Runs `work` while no other process on this machine holds the same lock file. SQLite's exclusive lock is one of the
 * operating system's: it ends with the process, so a killed holder leaves nothing to clean up.
 * @param onWait called once when somebody else holds the lock.
 */
export async function withLock<T>(file: string, onWait: () => void, work: () => Promise<T>): Promise<T> {
  const database = new Database(file, { create: true });
  try {
    database.run('PRAGMA busy_timeout = 0');
    for (let attempt = 0; !tryLock(database); attempt += 1) {
      if (attempt === 0) onWait();
      await Bun.sleep(RETRY_MS);
    }
    try {
      return await work();
    } finally {
      // Now, whatever statements the closed database may still wait for.
      database.run('ROLLBACK');
    }
  } finally {
    database.close();
  }
}

function tryLock(database: Database): boolean {
  try {
    database.run('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if ((error as { code?: string }).code?.startsWith('SQLITE_BUSY')) return false;
    throw error;
  }
}
