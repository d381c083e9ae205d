import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { messageOf } from '../../errors.ts';
import type { Binaries } from './binaries.ts';
import type { Layout } from './layout.ts';
import { copyForAllUsers } from './public-copy.ts';

/** An ordinary account that Postgres runs as when we are root, because it refuses to run as root. */
interface Account {
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
 * Decides how to run Postgres: as ourselves, or as root under an ordinary account without any capability.
 *
 * Root's checkouts and data often lie where that account may not go (`/root`, a `mktemp -d`, a umask of 077).
 * The data directory is no trouble: Postgres inherits it as its working directory and is told `-D /proc/self/cwd`,
 * which leads there without passing the closed folders above. The executables must be reached by their path, so when
 * the account can't, it runs a copy.
 *
 * @returns the launcher, and the executables that it can run.
 * @throws Error with one line when no way works.
 */
export async function chooseLauncher(
  binaries: Binaries,
  layout: Layout,
): Promise<{ launcher: Launcher; binaries: Binaries }> {
  if (process.getuid?.() !== 0) return { launcher: plainLauncher(), binaries };
  if (process.platform !== 'linux') {
    throw new Error('the embedded Postgres does not run as root here: use another user, or set DATABASE_URL');
  }
  const account = accountFor(layout);
  const launchers = [withoutCapabilities(account), withoutSetpriv(account)];
  const problems: string[] = [];
  for (const find of [() => binaries, () => copyForAllUsers(binaries)]) {
    try {
      const reachable = find();
      for (const launcher of launchers) {
        const problem = await tryLauncher(launcher, reachable);
        if (problem === null) return { launcher, binaries: reachable };
        problems.push(problem);
      }
    } catch (error) {
      problems.push(messageOf(error));
    }
  }
  throw new Error(
    `the embedded Postgres can't be run as root (${problems.at(-1)}): move the checkout to where the user with ID ` +
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

/** Neither the process nor anything that it runs can ever get a capability. */
function withoutCapabilities(account: Account): Launcher {
  const { uid, gid } = account;
  const options = [
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    '--bounding-set=-all',
    '--inh-caps=-all',
    '--ambient-caps=-all',
    '--no-new-privs',
    '--',
  ];
  return {
    account,
    dataArgument: () => '/proc/self/cwd',
    run: (executable, args, how) =>
      spawn('setpriv', [...options, executable, ...args], { ...how, env: CLEAN_ENVIRONMENT }),
  };
}

/** For a system without setpriv, or a container that may not shrink the bounding set, which is all that stays. */
function withoutSetpriv(account: Account): Launcher {
  const { uid, gid } = account;
  return {
    account,
    dataArgument: () => '/proc/self/cwd',
    run: (executable, args, how) => spawn(executable, args, { ...how, uid, gid, env: CLEAN_ENVIRONMENT }),
  };
}

/**
 * `null` when the server's executable runs this way, otherwise the problem. A shell runs it, as initdb does: setpriv
 * still has all of root's capabilities when it runs the shell, and the shell has none.
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
