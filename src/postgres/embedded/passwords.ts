import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { RefusedError } from '../../errors.ts';
import { type Layout, writePrivateFile } from './layout.ts';

/** Makes a password of 256 random bits in a file of mode 0600, unless the file exists. */
export function keepPassword(layout: Layout, path: string): void {
  if (!existsSync(path)) writePrivateFile(layout, path, `${randomBytes(32).toString('base64url')}\n`);
}

/** @throws RefusedError when the file is missing or can't be read. */
export function readPassword(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    throw new RefusedError(`${path} is missing or unreadable: bring it back from a backup of DATA_DIR`);
  }
}
