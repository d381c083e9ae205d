/**
 * `bun run test [PATH…] [FLAG…]`: `bun test` with its files in several processes that share the servers. The flags are bun's own, but for
 * `--near=REVISION`: the files of {@link testsNear}.
 * Its exit code is bun's, or 1 when a server can't be started or the tests left a process behind.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { testsNear } from './near.ts';
import { endLeftBehind } from './servers/left-behind.ts';
import { askKeeper, ServersUnavailable, startKeeper } from './servers/servers.ts';

/** The tests wait half of their time. Each process wants connections of Postgres, so a large machine has no more than this. */
const PROCESSES = Math.min(availableParallelism() + 3, 6);
const ROOT = join(import.meta.dir, '..');
/** Durations of a run, by which bun starts the longest files first. A whole run writes them if they lack a file. */
const TIMINGS = join(ROOT, '.ci/timings.json');

async function main(words: string[]): Promise<number> {
  const near = words.findIndex((word) => word.startsWith('--near='));
  if (near !== -1) {
    const { run, leftOut } = await testsNear(ROOT, words[near]!.slice('--near='.length), readTimings().files);
    if (leftOut.length > 0) console.error(`not run, because they take longer: ${leftOut.join(' ')}`);
    if (run.length === 0) return 0;
    words.splice(near, 1, ...run.map((path) => `./${path}`));
  }
  const runId = crypto.randomUUID().replaceAll('-', '').slice(0, 10);
  const keeper = await startKeeper({ runId });
  // Elasticsearch starts for 20 s, so it begins before the first file that needs it. A failure shows by `keeper.failed`.
  if (words.length === 0) {
    askKeeper(keeper.address, 'elasticsearch').catch(() => {});
    if (lackTimings()) words.push('--update-timings');
  }
  const tests = Bun.spawn(
    [
      ...[process.execPath, 'test', `--parallel=${PROCESSES}`, '--no-isolate', `--timings=${TIMINGS}`],
      ...words,
    ],
    {
      cwd: ROOT,
      env: { ...process.env, TEST_RUN_ID: runId, TEST_KEEPER: keeper.address },
      stdio: ['inherit', 'inherit', 'inherit'],
    },
  );
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => tests.kill(signal));
  const code = await Promise.race([tests.exited, keeper.failed]).catch((error: Error) => {
    tests.kill('SIGKILL');
    console.error(error instanceof ServersUnavailable ? error.message : error);
    return 1;
  });
  await keeper.stop();
  if (words.includes('--update-timings')) forgetGoneTimings();
  const left = await endLeftBehind(runId);
  if (left.length > 0) console.error(`the run has left processes, which were killed:\n${left.join('\n')}`);
  return left.length > 0 ? 1 : code;
}

const readTimings = (): { files: Record<string, number> } => JSON.parse(readFileSync(TIMINGS, 'utf8'));

function lackTimings(): boolean {
  const { files } = readTimings();
  return [...new Bun.Glob('test/**/*.test.ts').scanSync(ROOT)].some((file) => !(file in files));
}

/** Bun keeps those of files that are gone. */
function forgetGoneTimings(): void {
  const { files, ...rest } = readTimings();
  const present = Object.fromEntries(Object.entries(files).filter(([file]) => existsSync(join(ROOT, file))));
  writeFileSync(TIMINGS, `${JSON.stringify({ ...rest, files: present }, null, 2)}\n`);
}

if (import.meta.main) process.exit(await main(process.argv.slice(2)));
