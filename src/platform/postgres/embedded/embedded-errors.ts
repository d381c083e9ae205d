import { codeOf } from '../../errors.ts';

/** Turns a failed file operation below DATA_DIR into one line that says what to do; other errors pass as they are. */
export function explainFileError(error: unknown, dataDir: string): Error {
  const code = codeOf(error);
  switch (code) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new Error(
        `DATA_DIR ${dataDir} can't be written (${code}): let this user own it, or set DATA_DIR to a directory that it owns`,
      );
    case 'ENOSPC':
    case 'EDQUOT':
      return diskFull(dataDir);
    case 'ENOTDIR':
    case 'EEXIST':
      return new Error(
        `DATA_DIR ${dataDir} is not a directory: remove that file or set DATA_DIR to another path`,
      );
    default:
      return error instanceof Error ? error : new Error(String(error));
  }
}

function diskFull(dataDir: string): Error {
  return new Error(`the disk that holds DATA_DIR ${dataDir} is full: free some space and try again`);
}

/** The error of a program of Postgres that has failed. @param output its own lines, which have the reason */
export function explainProgram(dataDir: string, what: string, output: string): Error {
  if (/No space left on device|Disk quota exceeded/.test(output)) return diskFull(dataDir);
  if (/error while loading shared libraries|Library not loaded/.test(output)) {
    return new Error(
      'the embedded Postgres is not completely installed (its install script has not run): ' +
        'remove node_modules and run `bun install`, or set DATABASE_URL',
    );
  }
  const [, uid] = /could not look up effective user ID (\d+)/.exec(output) ?? [];
  if (uid !== undefined) {
    return new Error(
      `Postgres needs a user with a name, and the one with ID ${uid} has none: add it to /etc/passwd, ` +
        'use another user, or set DATABASE_URL',
    );
  }
  if (output.includes('lock file "postmaster.pid" already exists')) {
    return new Error(`another Postgres that runs claims the data in ${dataDir}: end that Postgres`);
  }
  const reason = /(?:error|FATAL|PANIC): +(.*)/.exec(output)?.[1] ?? output.trim().split('\n').at(-1);
  return new Error(`${what}: ${reason?.trim() || 'it gave no reason'}`);
}
