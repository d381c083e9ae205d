import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import type { Binaries } from './binaries.ts';
import type { Layout } from './layout.ts';

/** An ordinary account that Postgres runs as when we are root, because it refuses to run as root. */
export interface Account {
  uid: number;
  gid: number;
}

/** How Postgres's executables are run on this machine by this user. */
export interface Launcher {
  /** Whom the data directory must belong to; null: to us. */
  account: Account | null;
  /** The `-D` for a run whose working directory is `directory`. */
  dataArgument(directory: string): string;
  run(
    executable: string,
    args: string[],
    how: { cwd: string; stdio: StdioOptions; detached?: boolean },
  ): ChildProcess;
}

/** Postgres gets none of our environment: it holds secrets, and PG* and locale variables would change its ways. */
const CLEAN_ENVIRONMENT = { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' };

/**
 * Decides how to run Postgres: as ourselves, or as root under an ordinary account.
 *
 * Root's checkouts and data often lie where that account may not go (`/root`, a `mktemp -d`, a umask of 077).
 * The data directory is no trouble: Postgres inherits it as its working directory and is told `-D /proc/self/cwd`,
 * which leads there without passing the closed folders above. The executables must be reached by their path, so when
 * the account can't, it gets the smallest capability that lets it: to read anything, else to pass any file mode.
 * (`no_setuid_fixup` because Postgres asks `access()`, which would otherwise disregard capabilities.)
 *
 * @throws Error with one line when no way works.
 */
export async function chooseLauncher(binaries: Binaries, layout: Layout): Promise<Launcher> {
  if (process.getuid?.() !== 0) return plainLauncher();
  if (process.platform !== 'linux') {
    throw new Error('the embedded Postgres does not run as root here: use another user, or set DATABASE_URL');
  }
  const account = accountFor(layout);
  const ways = [
    rootLauncher(account, null),
    rootLauncher(account, 'dac_read_search'),
    rootLauncher(account, 'dac_override'),
  ];
  const problems: string[] = [];
  for (const way of ways) {
    const problem = await tryLauncher(way, binaries);
    if (problem === null) return way;
    problems.push(problem);
  }
  throw new Error(
    `the embedded Postgres can't be run as root (${problems[0]}): move the checkout to where the user with ID ` +
      `${account.uid} can read it, use a user other than root, or set DATABASE_URL`,
  );
}

function plainLauncher(): Launcher {
  return {
    account: null,
    dataArgument: (directory) => directory,
    run: (executable, args, how) => spawn(executable, args, { ...how, env: CLEAN_ENVIRONMENT }),
  };
}

function rootLauncher(account: Account, capability: string | null): Launcher {
  const { uid, gid } = account;
  const setpriv = [
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    `--bounding-set=-all,+${capability}`,
    `--inh-caps=-all,+${capability}`,
    `--ambient-caps=-all,+${capability}`,
    '--securebits=+no_setuid_fixup',
    '--',
  ];
  return {
    account,
    dataArgument: () => '/proc/self/cwd',
    run: (executable, args, how) =>
      capability === null
        ? spawn(executable, args, { ...how, uid, gid, env: CLEAN_ENVIRONMENT })
        : spawn('setpriv', [...setpriv, executable, ...args], { ...how, env: CLEAN_ENVIRONMENT }),
  };
}

/**
 * Null when the server's executable runs this way, else what stood in its way. A shell runs it, as initdb does:
 * setpriv still has all of root's capabilities when it runs something, what comes after it only those given.
 */
function tryLauncher(launcher: Launcher, binaries: Binaries): Promise<string | null> {
  return new Promise((resolve) => {
    try {
      const stdio: StdioOptions = ['ignore', 'ignore', 'pipe'];
      const child = launcher.run('/bin/sh', ['-c', 'exec "$0" --version', binaries.postgres], {
        cwd: '/',
        stdio,
      });
      let complaint = '';
      child.stderr?.on('data', (chunk) => {
        complaint += chunk;
      });
      child.on('error', (error) => resolve(error.message));
      child.on('close', (code) => resolve(code === 0 ? null : complaint.trim() || `exit code ${code}`));
    } catch (error) {
      resolve(error instanceof Error ? error.message : String(error));
    }
  });
}

/** Whoever owns the data already; else the owner of its folder if that is not root; else the user `postgres`. */
function accountFor(layout: Layout): Account {
  for (const path of [layout.cluster, layout.home]) {
    if (!existsSync(path)) continue;
    const { uid, gid } = statSync(path);
    if (uid !== 0) return { uid, gid };
  }
  return lookUpAccount('postgres') ?? makeAccount('postgres');
}

function lookUpAccount(name: string): Account | null {
  for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
    const [user, , uid, gid] = line.split(':');
    if (user === name && Number(uid) > 0) return { uid: Number(uid), gid: Number(gid) };
  }
  return null;
}

function makeAccount(name: string): Account {
  const options = ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin'];
  try {
    Bun.spawnSync(['useradd', ...options, name], { env: CLEAN_ENVIRONMENT });
  } catch {
    // No useradd: what counts is whether the user is there now; another process may have made it too.
  }
  const account = lookUpAccount(name);
  if (account !== null) return account;
  throw new Error(
    `Postgres refuses to run as root and the user '${name}' can't be made: run \`useradd --system ${name}\`, ` +
      'use a user other than root, or set DATABASE_URL',
  );
}
