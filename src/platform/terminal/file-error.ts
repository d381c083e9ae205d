import { dirname } from 'node:path';
import { codeOf, messageOf } from '../errors.ts';

/**
 * A file (or standard input) is unusable as a whole: missing, unreadable, damaged, or of the wrong format or encoding. The
 * message is one line that names the file and says what to do. (Single unusable rows are rejected, and the rest is imported.)
 */
export class FileError extends Error {
  override readonly name = 'FileError';

  constructor(message: string, options?: ErrorOptions) {
    // The path of a file may have line breaks in it.
    super(message.replaceAll(/\p{Cc}+/gu, ' '), options);
  }
}

/** One line about a failed operation of the file system, by its error code. */
export function fileSystemError(name: string, error: unknown): FileError {
  const said = PLAIN_WORDS[codeOf(error) ?? ''];
  return new FileError(`${name}: ${said ?? messageOf(error)}`, { cause: error });
}

/** The same for a file that is written. If something is missing, it is the folder. */
export function writeError(path: string, error: unknown): FileError {
  const code = codeOf(error);
  if (code !== 'ENOENT' && code !== 'ENOTDIR') return fileSystemError(path, error);
  return new FileError(`${path}: there is no folder ${dirname(path)}: make it first`, { cause: error });
}

const PLAIN_WORDS: Record<string, string> = {
  ENOENT: 'no such file',
  ENOTDIR: 'no such file',
  EISDIR: 'is a directory, not a file',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOSPC: 'no space left on the disk',
  EDQUOT: 'no space left on the disk (quota)',
  EROFS: 'the file system is read-only',
  ELOOP: 'too many symbolic links',
  ENAMETOOLONG: 'the name is too long',
  ENXIO: 'is a socket or device, not a file',
};
