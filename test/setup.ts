/**
 * Runs before every `bun test`: brings up real Elasticsearch, Postgres and Redis (test/servers/servers.ts says from where)
 * and hands their addresses to the tests through the environment, so that processes that a test starts have them too.
 */
import { afterAll } from 'bun:test';
import { plugin } from 'bun';
import { ServersUnavailable, startServers } from './servers/servers.ts';
import { dropTestDatabases } from './support/database.ts';

/** Real dependencies and processes on a busy machine: 5 s, the default, is for units. */
const TEST_TIMEOUT_MS = 30_000;

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

const servers = await startServers().catch((error) => {
  // Missing Docker, JDK or the like is one line; anything else has earned its stack.
  console.error(error instanceof ServersUnavailable ? error.message : error);
  process.exit(1);
});
process.env.TEST_DATABASE_URL = servers.postgresUrl;
process.env.TEST_ELASTICSEARCH_URL = servers.elasticsearchUrl;
process.env.TEST_REDIS_URL = servers.redisUrl;
process.env.TEST_RUN_ID = crypto.randomUUID().replaceAll('-', '').slice(0, 10);
// A test says itself which of them a process uses; what the developer's shell has set must not decide it.
for (const variable of ['DATABASE_URL', 'ELASTICSEARCH_URL', 'REDIS_URL']) delete process.env[variable];

afterAll(async () => {
  if (!servers.started.includes('postgres')) await dropTestDatabases();
  await servers.stop();
});
