import { type RunningServers, ServersUnavailable, startServers } from './servers.ts';

let servers: RunningServers | undefined;

/**
 * Starts the servers of this run, at the first call, and puts their addresses into the environment, so that processes that
 * a test starts have them, too. Without servers the run ends here, with one line that says what is missing.
 */
export async function startSharedServers(): Promise<void> {
  if (servers) return;
  try {
    servers = await startServers();
  } catch (error) {
    // A missing prerequisite is one line; anything else needs its stack.
    console.error(error instanceof ServersUnavailable ? error.message : error);
    process.exit(1);
  }
  process.env.TEST_DATABASE_URL = servers.postgresUrl;
  process.env.TEST_ELASTICSEARCH_URL = servers.elasticsearchUrl;
  process.env.TEST_REDIS_URL = servers.redisUrl;
}

/** The servers of this run; undefined when no test has asked for them. */
export const sharedServers = () => servers;
