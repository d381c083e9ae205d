/** Runs before every `bun test`. A server starts when a test file imports what needs it (test/servers/shared.ts). */
import { afterAll } from 'bun:test';
import { plugin } from 'bun';
import { endLeftBehind } from './servers/left-behind.ts';
import { stopServers } from './servers/shared.ts';

/**
 * What ends a test, or a hook, that hangs. No figure of how long one takes: the longest takes 30 s on a quiet machine, and a busy one of
 * half the speed needs a multiple of that.
 */
const TEST_TIMEOUT_MS = 180_000;

// Bun 1.4.5 forgets a default time-out after each file and reads none from bunfig.toml, so every test file begins with
// setting it, on its own first line: line numbers stay what they are.
plugin({
  name: 'default time-out of every test file',
  setup: (build) =>
    void build.onLoad({ filter: /\.test\.ts$/ }, async ({ path }) => ({
      contents: `import { setDefaultTimeout as setTimeoutOfFile } from 'bun:test'; setTimeoutOfFile(${TEST_TIMEOUT_MS}); ${await Bun.file(path).text()}`,
      loader: 'ts',
    })),
});

// A hash of a password keeps a core busy for 60 to 100 ms: the 45 files of the dashboard took 81 s of CPU with the full cost, and 44 s
// with this one. Processes of the service have the full cost (dashboard/outages.test.ts), so they and this process don't take each
// other's hashes. The library has no option for its cost, only for another function.
plugin({
  name: 'cheap hashes of passwords',
  setup: (build) =>
    void build.onLoad({ filter: /@better-auth\/utils\/dist\/password\.node\.mjs$/ }, async ({ path }) => {
      const source = await Bun.file(path).text();
      const contents = source.replace('N: 16384', 'N: 256');
      if (contents === source) throw new Error(`the cost of a hash is not found in ${path}`);
      return { contents, loader: 'js' };
    }),
});

// The processes of one run share its template of a database (support/database.ts).
process.env.TEST_RUN_ID ??= crypto.randomUUID().replaceAll('-', '').slice(0, 10);
// A test says itself which servers a process uses; the developer's shell must not decide it.
for (const variable of ['DATABASE_URL', 'ELASTICSEARCH_URL', 'REDIS_URL']) {
  const given = process.env[variable];
  if (given) process.env[`TEST_${variable}`] ||= given;
  delete process.env[variable];
}

// One of several processes is not the last to need the servers: test/run.ts does this for all of them.
if (!process.env.BUN_TEST_WORKER_ID) {
  afterAll(async () => {
    await stopServers();
    const left = await endLeftBehind(process.env.TEST_RUN_ID!);
    if (left.length > 0)
      throw new Error(`the run has left processes, which were killed:\n${left.join('\n')}`);
  }, 60_000);
}
