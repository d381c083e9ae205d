import { existsSync, lstatSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Binaries } from './binaries.ts';

/** For regenerable data of the machine (Filesystem Hierarchy Standard, 5.5): every user can read it, only root writes. */
const CACHE = '/var/cache/company-directory';

/**
 * Copies the package's binaries, about 60 MB, to where every user can run them, unless they are there. Only root can
 * call it. It is not below `DATA_DIR`: the folders above that are as closed as those above the checkout.
 *
 * @throws Error when the copy can't be made, or is not root's alone.
 */
export function copyForAllUsers(binaries: Binaries): Binaries {
  const target = join(CACHE, binaries.packageVersion);
  mkdirSync(CACHE, { recursive: true, mode: 0o755 });
  requireRootsAlone(CACHE);
  if (!existsSync(target)) {
    const unfinished = `${target}.${process.pid}.new`;
    try {
      run('cp', '-RP', join(dirname(binaries.postgres), '..'), unfinished);
      run('chmod', '-R', 'u=rwX,go=rX', unfinished);
      renameSync(unfinished, target);
    } catch (error) {
      rmSync(unfinished, { recursive: true, force: true });
      // Another process was first: a folder with content is never replaced.
      if (!existsSync(target)) throw error;
    }
  }
  requireRootsAlone(target);
  const at = (name: string) => join(target, 'bin', name);
  return { ...binaries, initdb: at('initdb'), postgres: at('postgres') };
}

function requireRootsAlone(folder: string): void {
  const { uid, mode } = lstatSync(folder);
  if (uid !== 0 || (mode & 0o022) !== 0) throw new Error(`${folder} is not root's alone: remove it`);
}

function run(...command: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(command);
  if (exitCode !== 0) throw new Error(stderr.toString().trim());
}
