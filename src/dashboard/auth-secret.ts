import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, RefusedError } from '../errors.ts';
import type { Log } from '../observability/log.ts';

const FILE = 'auth-secret';

/**
 * {@link keptAuthSecret}, or one for as long as the process runs where nothing can be written: the API does not end for
 * want of the dashboard's sessions.
 */
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
 * The secret that signs the dashboard's sessions where `AUTH_SECRET` is not set: kept in `dataDir`, readable by its owner
 * alone, made by whoever needs it first. Instances on several machines don't share it and need `AUTH_SECRET`.
 */
export async function keptAuthSecret(dataDir: string): Promise<string> {
  const path = join(dataDir, FILE);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const existing = await read(path);
  if (existing !== null) return existing;
  // Written whole under a name of its own, then linked: two processes that start at once end with one secret.
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

async function read(path: string): Promise<string | null> {
  try {
    const secret = (await readFile(path, 'utf8')).trim();
    if (secret.length < 32)
      throw new RefusedError(`${path} is damaged: remove it, and everyone signs in again`);
    await chmod(path, 0o600);
    return secret;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}
