import { afterAll, afterEach, beforeEach, expect } from 'bun:test';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectPostgres } from '../../../../src/platform/postgres/connect.ts';
import { openEmbeddedPostgres } from '../../../../src/platform/postgres/embedded/embedded.ts';
import { type Layout, prepareLayout } from '../../../../src/platform/postgres/embedded/paths.ts';
import { findRunning, stopPostgres } from '../../../../src/platform/postgres/embedded/server.ts';
import { readEndpoint, socketUrl } from '../../../../src/platform/postgres/embedded/socket.ts';

const HOLDER = join(import.meta.dir, 'holder.ts');

/** A socket's address holds about 100 characters. A temporary folder with a longer path, as on macOS, leaves too few for a DATA_DIR. */
const LONGEST_BASE = 16;

/** A directory for one test, and what removes it. @throws (from `dispose`) Error if a Postgres was left running there */
export function temporaryDirectory(name = 'embedded'): { path: string; dispose(): Promise<void> } {
  const base = tmpdir().length > LONGEST_BASE ? '/tmp' : tmpdir();
  const path = mkdtempSync(join(base, `company-directory-${name}-${process.env.TEST_RUN_ID}-`));
  const dispose = async () => {
    const running = layoutsBelow(path).filter((layout) => findRunning(layout) !== null);
    for (const layout of running) await stopPostgres(layout);
    rmSync(path, { recursive: true, force: true, maxRetries: 5 });
    if (running.length > 0) throw new Error('Postgres was left running');
  };
  return { path, dispose };
}

let seed: Promise<{ path: string; dataDir: string; dispose(): Promise<void> }> | null = null;

/** The file's DATA_DIR that has been started and stopped once, for tests that leave it in order: a first start takes seconds. */
export async function usedDataDir(): Promise<string> {
  seed ??= makeSeed();
  return (await seed).dataDir;
}

/** Lays a copy of {@link usedDataDir}. @returns its path */
export async function layUsedDataDir(dataDir: string): Promise<string> {
  const copied = Bun.spawnSync(['cp', '-a', await usedDataDir(), dataDir]);
  if (copied.exitCode !== 0) throw new Error(copied.stderr.toString());
  return dataDir;
}

async function makeSeed() {
  const directory = temporaryDirectory('seed');
  const dataDir = join(directory.path, 'data of ours');
  await (await openEmbeddedPostgres(dataDir)).close();
  return { ...directory, dataDir };
}

/** Gives each test of a file a directory of its own. After a test no Postgres may run there, nor in {@link usedDataDir}. */
export function useDirectories() {
  const own = { path: '', dataDir: '' };
  let dispose: () => Promise<void>;
  beforeEach(() => {
    ({ path: own.path, dispose } = temporaryDirectory());
    own.dataDir = join(own.path, 'data of ours');
  });
  afterEach(async () => {
    await dispose();
    expect(seed && postgresPid(await usedDataDir())).toBeNull();
  });
  afterAll(async () => (await seed)?.dispose());
  return own;
}

const layoutsBelow = (path: string): Layout[] =>
  ['.', ...readdirSync(path)]
    .map((name) => join(path, name))
    .filter((folder) => existsSync(join(folder, 'postgres')))
    .map(prepareLayout);

/** Joins in this process. `await using` leaves, too. */
export async function joinHere(...args: Parameters<typeof openEmbeddedPostgres>) {
  const embedded = await openEmbeddedPostgres(...args);
  return { ...embedded, [Symbol.asyncDispose]: embedded.close };
}

/** Starts a process that joins, without waiting for it. */
export function spawnHolder(dataDir: string, script = HOLDER, environment: Record<string, string> = {}) {
  return Bun.spawn([process.execPath, script, dataDir], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
    env: { ...process.env, ...environment },
  });
}

/** Starts a process that joins and waits until it has. */
export async function startHolder(...args: Parameters<typeof spawnHolder>) {
  const child = spawnHolder(...args);
  // It prints the address at once, or ends without a word.
  const { value } = await child.stdout.getReader().read();
  const url = new TextDecoder().decode(value).trim();
  if (url === '') throw new Error(`the holder ended: ${await new Response(child.stderr).text()}`);
  return {
    url,
    pid: child.pid,
    /** Sends one line and waits for the end; the exit code. */
    async end(command: 'close' | 'exit'): Promise<number> {
      child.stdin.write(`${command}\n`);
      await child.stdin.end();
      return await child.exited;
    },
    async kill(signal: NodeJS.Signals): Promise<void> {
      child.kill(signal);
      await child.exited;
    },
  };
}

/** Asks one thing over a new connection. */
export async function query<Row extends object>(url: string, statement: string): Promise<Row[]> {
  const sql = connectPostgres(url, { max: 1 });
  try {
    return [...(await sql.unsafe<Row[]>(statement))];
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** The address of a database of the Postgres that runs under `dataDir`, for its superuser. */
export function superuserUrl(dataDir: string, database = 'company_directory'): string {
  return socketUrl(readEndpoint(prepareLayout(dataDir))!.socketFolder, 'postgres', database);
}

/** The PID of the Postgres under `dataDir`, or null when none runs. */
export function postgresPid(dataDir: string): number | null {
  return findRunning(prepareLayout(dataDir))?.pid ?? null;
}
