/**
 * `bun test/servers/up.ts`: starts the test servers once and leaves them running until Ctrl-C, for work that runs the tests
 * again and again. Its standard output is made for a shell: `source <(…)`, or a file to source.
 */
import { ServersUnavailable, startServers, VARIABLES } from './servers.ts';

const INTERACTIVE_MAX_CONNECTIONS = 500;

try {
  const servers = await startServers({ maxConnections: INTERACTIVE_MAX_CONNECTIONS });
  console.log(`export ${VARIABLES.postgres}=${servers.postgresUrl}`);
  console.log(`export ${VARIABLES.elasticsearch}=${servers.elasticsearchUrl}`);
  console.log(`export ${VARIABLES.redis}=${servers.redisUrl}`);
  console.error('running until Ctrl-C');
  const stop = async () => {
    await servers.stop();
    process.exit(0);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  setInterval(() => {}, 60_000);
} catch (error) {
  console.error(error instanceof ServersUnavailable ? error.message : error);
  process.exit(1);
}
