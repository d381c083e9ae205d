import { chownSync, closeSync, existsSync, mkdtempSync, openSync, renameSync, rmSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Binaries } from './binaries.ts';
import type { Launcher } from './launcher.ts';
import { diskFull, type Layout, syncDirectory, writePrivateFile } from './layout.ts';
import { keepPassword, readPassword } from './passwords.ts';

const UNFINISHED = 'cluster.new-';

/**
 * Makes the data directory with initdb unless it is there. It is made under another name and renamed when complete,
 * so one that is cut short leaves nothing but a folder that the next run removes. Call it with the mutex held.
 *
 * @throws Error with one line when initdb fails.
 */
export async function initializeCluster(
  layout: Layout,
  binaries: Binaries,
  launcher: Launcher,
  signal?: AbortSignal,
): Promise<void> {
  await removeUnfinished(layout);
  if (existsSync(join(layout.cluster, 'PG_VERSION'))) return;
  keepPassword(layout, layout.password);
  const unfinished = mkdtempSync(join(layout.home, UNFINISHED));
  try {
    if (launcher.account) chownSync(unfinished, launcher.account.uid, launcher.account.gid);
    await runInitdb(layout, binaries, launcher, unfinished, signal);
    renameSync(unfinished, layout.cluster);
    syncDirectory(layout.home);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
}

/**
 * An initdb whose starter was killed ends at its next line of output, but until then it may add files while we remove
 * them. What resists is in nobody's way and goes the next time.
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
  binaries: Binaries,
  launcher: Launcher,
  directory: string,
  signal?: AbortSignal,
): Promise<void> {
  signal?.throwIfAborted();
  const password = passwordForInitdb(layout, launcher);
  const args = [
    `--pgdata=${launcher.dataArgument(directory)}`,
    '--username=postgres',
    '--auth=scram-sha-256',
    `--pwfile=${password.argument}`,
    '--locale=C',
    '--encoding=UTF8',
    '--no-instructions',
  ];
  try {
    const child = launcher.run(binaries.initdb, args, {
      cwd: directory,
      stdio: [password.fd, 'pipe', 'pipe'],
    });
    const stop = () => child.kill('SIGTERM');
    signal?.addEventListener('abort', stop, { once: true });
    let output = '';
    child.stdout?.on('data', (chunk) => {
      output += chunk;
    });
    child.stderr?.on('data', (chunk) => {
      output += chunk;
    });
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', resolve);
    });
    signal?.removeEventListener('abort', stop);
    signal?.throwIfAborted();
    if (code !== 0) throw explainInitdb(layout, output);
  } finally {
    password.dispose();
  }
}

/**
 * The password file is ours alone. Under another account initdb gets an open copy as its standard input, since it
 * couldn't pass the closed folder above it.
 */
function passwordForInitdb(
  layout: Layout,
  launcher: Launcher,
): { fd: number; argument: string; dispose(): void } {
  if (launcher.account === null) {
    const fd = openSync(layout.password, 'r');
    return { fd, argument: layout.password, dispose: () => closeSync(fd) };
  }
  const copy = `${layout.password}.initdb`;
  writePrivateFile(layout, copy, `${readPassword(layout.password)}\n`);
  chownSync(copy, launcher.account.uid, launcher.account.gid);
  const fd = openSync(copy, 'r');
  const dispose = () => {
    closeSync(fd);
    rmSync(copy, { force: true });
  };
  return { fd, argument: '/proc/self/fd/0', dispose };
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
