import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { ServerUser } from './processes.ts';

const FOLDER_NAME = 'company-directory';
const MEMORY = '/dev/shm';
/** The servers of a whole run write about a gigabyte. */
const MEMORY_BYTES = 4 * 1024 ** 3;
const REMOVE_ATTEMPTS = 50;
const REMOVE_RETRY_MS = 100;

/**
 * Whether `user` can walk down to `path`, by the "others" bits of each folder on the way (a user made for the
 * tests owns none of them). Without a user (the tests don't run as root) everything that we can reach is reachable.
 */
export function isReachable(path: string, user: ServerUser | undefined): boolean {
  if (!user) return true;
  let folder = resolve(path);
  for (;;) {
    const mode = statSync(folder, { throwIfNoEntry: false })?.mode;
    if (mode !== undefined && (mode & 0o001) === 0) return false;
    const parent = dirname(folder);
    if (parent === folder) return true;
    folder = parent;
  }
}

/**
 * The folder for what is fetched once and kept between runs, outside of any checkout: `XDG_CACHE_HOME`, else
 * `~/.cache`, else (as root, when the servers' user can't enter a home of mode 0700) `/var/cache`, else the system's
 * temporary folder. Created when absent.
 * @throws Error when none of them can be written.
 */
export function cacheFolder(user: ServerUser | undefined): string {
  const uid = process.getuid?.() ?? 0;
  const candidates = [
    process.env.XDG_CACHE_HOME && join(process.env.XDG_CACHE_HOME, FOLDER_NAME),
    join(homedir(), '.cache', FOLDER_NAME),
    uid === 0 && join('/var/cache', FOLDER_NAME),
    join(tmpdir(), `${FOLDER_NAME}-cache-${uid}`),
    join('/tmp', `${FOLDER_NAME}-cache-${uid}`),
  ];
  for (const candidate of candidates) {
    if (candidate && isReachable(dirname(candidate), user) && canCreate(candidate)) return candidate;
  }
  throw new Error('no folder for the test servers that can be written: set XDG_CACHE_HOME');
}

/** A new temporary folder owned by the servers' user, which holds everything that one run writes. */
export function createRunFolder(user: ServerUser | undefined): string {
  const candidates = [...memoryFolder(), ...TEMPORARY];
  const base = candidates.find((folder) => isReachable(folder, user)) ?? tmpdir();
  const folder = mkdtempSync(join(base, runFolders(process.env.TEST_RUN_ID ?? 'none')));
  if (user) chownSync(folder, user.uid, user.gid);
  return folder;
}

const TEMPORARY = [tmpdir(), '/tmp', '/var/tmp'];
const runFolders = (runId: string) => `${FOLDER_NAME}-test-${runId}-`;

/** Removes the folders that the killed processes of a run have left. */
export async function removeRunFolders(runId: string): Promise<void> {
  for (const base of new Set([MEMORY, ...TEMPORARY])) {
    const names = existsSync(base) ? readdirSync(base) : [];
    for (const name of names) if (name.startsWith(runFolders(runId))) await removeFolder(join(base, name));
  }
}

/**
 * Linux's file system in memory, if it has room, takes programs, and nobody has asked for another place. Elasticsearch syncs every
 * change of an index to the disk: on a busy one it creates an index in 0.4 s, and here in 0.13 s.
 */
function memoryFolder(): string[] {
  if (process.env.TMPDIR || !existsSync(MEMORY)) return [];
  const { bavail, bsize } = statfsSync(MEMORY);
  if (bavail * bsize < MEMORY_BYTES) return [];
  const probe = join(mkdtempSync(join(MEMORY, `${FOLDER_NAME}-probe-`)), 'program');
  try {
    writeFileSync(probe, '', { mode: 0o755 });
    accessSync(probe, constants.X_OK);
    return [MEMORY];
  } catch {
    return []; // It is mounted without `exec`, as in most containers.
  } finally {
    rmSync(dirname(probe), { recursive: true });
  }
}

/** Removes a folder of processes that were killed: their last children may still be writing into it for a moment. */
export async function removeFolder(folder: string): Promise<void> {
  for (let attempt = 1; existsSync(folder) && attempt <= REMOVE_ATTEMPTS; attempt += 1) {
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
    if (existsSync(folder)) await Bun.sleep(REMOVE_RETRY_MS);
  }
}

/** Creates the folder if need be; someone else's folder of that name (in /tmp) is not ours to trust. */
function canCreate(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true });
    if (statSync(folder).uid !== (process.getuid?.() ?? 0)) return false;
    chmodSync(folder, 0o755);
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
