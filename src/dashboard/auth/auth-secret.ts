import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { link, mkdir, open, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf, RefusedError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';

const FILE = 'auth-secret';

/** {@link keptAuthSecret}. If nothing can be written, the API still starts, with a secret that ends with the process. */
export async function ownAuthSecret(dataDir: string, log: Log): Promise<string> {
  try {
    return await keptAuthSecret(dataDir);
  } catch (error) {
    if (error instanceof RefusedError) throw error;
    log.warn({ err: error }, 'AUTH_SECRET is not set and none can be kept: a restart ends all sessions');
    return randomBytes(32).toString('base64url');
  }
}

/**
 * The secret that signs the dashboard's sessions if `AUTH_SECRET` is not set. The first process makes it and keeps it in
 * `dataDir`, readable by its owner alone. Instances on several machines don't share it and need `AUTH_SECRET`.
 */
export async function keptAuthSecret(dataDir: string): Promise<string> {
  const path = join(dataDir, FILE);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const existing = await read(path);
  if (existing !== null) return existing;
  // The draft is complete before it is linked, so two processes that start at once end with one secret.
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  await writeFile(draft, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  try {
    await link(draft, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  const made = await read(path);
  if (made === null) throw new RefusedError(`the sessions' secret could not be kept in ${dataDir}`);
  return made;
}

/**
 * Other users may be able to write `DATA_DIR`. A symbolic link, another user's file and a hard link are refused, because
 * another user could know the secret in them.
 *
 * @returns `null` if there is no such file
 * @throws RefusedError if the file may be known to another user, or is damaged
 */
async function read(path: string): Promise<string | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error) => {
      if (codeOf(error) === 'ENOENT') return null;
      if (codeOf(error) === 'ELOOP') throw new RefusedError(`${path} is a link: remove it`);
      throw error;
    },
  );
  if (file === null) return null;
  try {
    const { uid, mode, nlink } = await file.stat();
    const isOpen = (mode & 0o077) !== 0;
    if (
      (mode & constants.S_IFMT) !== constants.S_IFREG ||
      !(await isOwner(uid, path)) ||
      (isOpen && nlink > 1)
    )
      throw new RefusedError(`${path} is not a file of this user: remove it, and everyone signs in again`);
    const secret = (await file.readFile('utf8')).trim();
    if (secret.length < 32)
      throw new RefusedError(`${path} is damaged: remove it, and everyone signs in again`);
    if (isOpen) await file.chmod(0o600);
    return secret;
  } finally {
    await file.close();
  }
}

/** Root also reads a file of the user that owns `DATA_DIR`, because the service may have made it. */
async function isOwner(uid: number, path: string): Promise<boolean> {
  const own = process.geteuid?.();
  return uid === own || (own === 0 && uid === (await stat(dirname(path))).uid);
}
