import { chownSync, closeSync, existsSync, mkdtempSync, openSync, renameSync, rmSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Launcher } from './launcher.ts';
import {
  diskFull,
  keepPassword,
  type Layout,
  readPassword,
  syncDirectory,
  writePrivateFile,
} from './layout.ts';

const UNFINISHED = 'cluster.new-';

/** The `-D` of a program whose working directory is the data directory (see `chooseLauncher`). */
export const dataArgument = (directory: string) =>
  process.platform === 'linux' ? '/proc/self/cwd' : directory;

/**
 * Makes the data directory with initdb unless it exists. It gets its name when it is complete, so an interrupted run
 * leaves only a folder that the next run removes. Call it with the mutex held.
 *
 * @throws Error with one line when initdb fails
 */
export async function initializeCluster(
  layout: Layout,
  launcher: Launcher,
  signal?: AbortSignal,
): Promise<void> {
  await removeUnfinished(layout);
  if (existsSync(join(layout.cluster, 'PG_VERSION'))) return;
  keepPassword(layout, layout.password);
  const unfinished = mkdtempSync(join(layout.home, UNFINISHED));
  try {
    if (launcher.account) chownSync(unfinished, launcher.account.uid, launcher.account.gid);
    await runInitdb(layout, launcher, unfinished, signal);
    renameSync(unfinished, layout.cluster);
    syncDirectory(layout.home);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
}

/**
 * An initdb whose starter was killed ends at its next line of output, but until then it may add files while we remove
 * them. A folder that can't be removed now is removed the next time.
 */
async function removeUnfinished(layout: Layout): Promise<void> {
  for (const name of await readdir(layout.home)) {
    if (!name.startsWith(UNFINISHED)) continue;
    const options = { recursive: true, force: true, maxRetries: 20, retryDelay: 25 };
    await rm(join(layout.home, name), options).catch(() => undefined);
  }
}

async function runInitdb(
  layout: Layout,
  launcher: Launcher,
  cwd: string,
  signal?: AbortSignal,
): Promise<void> {
  const stdin = openPassword(layout, launcher);
  const args = ['--username=postgres', '--auth=scram-sha-256', '--pwfile=/dev/fd/0'];
  args.push('--locale=C', '--encoding=UTF8', '--no-instructions', `--pgdata=${dataArgument(cwd)}`);
  try {
    const { code, output } = await launcher.run('initdb', args, { cwd, stdin, signal });
    signal?.throwIfAborted();
    if (code !== 0) throw explainInitdb(layout, output);
  } finally {
    closeSync(stdin);
  }
}

/**
 * A copy of the password as an open file: initdb's account may own it, and can't pass the closed folder above it. The copy
 * is deleted at once; `/dev/fd/0` still opens it.
 */
function openPassword(layout: Layout, { account }: Launcher): number {
  const copy = `${layout.password}.initdb`;
  writePrivateFile(layout, copy, `${readPassword(layout.password)}\n`);
  try {
    if (account) chownSync(copy, account.uid, account.gid);
    return openSync(copy, 'r');
  } finally {
    rmSync(copy);
  }
}

function explainInitdb(layout: Layout, output: string): Error {
  if (/No space left on device|Disk quota exceeded/.test(output)) return diskFull(layout.dataDir);
  if (/error while loading shared libraries|Library not loaded/.test(output)) {
    return new Error(
      'the embedded Postgres is not completely installed (its install script has not run): ' +
        'remove node_modules and run `bun install`, or set DATABASE_URL',
    );
  }
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const reason =
    lines.find((line) => /(error|FATAL|PANIC):/.test(line)) ?? lines.at(-1) ?? 'initdb gave no reason';
  return new Error(`the embedded Postgres could not be set up in ${layout.home}: ${reason.trim()}`);
}
