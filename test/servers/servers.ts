import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { mayInstall } from './may-install.ts';

export type ServerName = 'elasticsearch' | 'postgres' | 'redis';

export type StartRequest = {
  servers: ServerName[];
  /** Postgres's `max_connections`. */
  maxConnections: number;
  /** Benchmarks get real durable commits (fsync) and Java's full compiler; tests do without, for a quicker start. */
  purpose: 'tests' | 'benchmarks';
  elasticsearchHeapMb: number;
};

/** Servers being started by the keeper: `urls` is complete when `ready` resolves; `stop` works at any moment. */
export type ServerSet = {
  urls: Partial<Record<ServerName, string>>;
  ready: Promise<void>;
  stop(): Promise<void>;
};

export type RunningServers = {
  elasticsearchUrl: string;
  postgresUrl: string;
  redisUrl: string;
  /** Those that this call has started; the others' addresses came from the environment. */
  started: ServerName[];
  /** Stops what this call has started and removes its files. Can be called twice. */
  stop(): Promise<void>;
};

/** What the keeper writes to its standard output, a JSON document a line. */
export type KeeperMessage =
  | { say: string }
  | { ready: Partial<Record<ServerName, string>> }
  | { failed: string };

/** The servers can't be started; `message` is one line when a prerequisite is missing. */
export class ServersUnavailable extends Error {}

const STOP_TIMEOUT_MS = 20_000;
const VARIABLES: Record<ServerName, [string, string]> = {
  elasticsearch: ['TEST_ELASTICSEARCH_URL', 'ELASTICSEARCH_URL'],
  postgres: ['TEST_DATABASE_URL', 'DATABASE_URL'],
  redis: ['TEST_REDIS_URL', 'REDIS_URL'],
};
const NAMES = Object.keys(VARIABLES) as ServerName[];

/**
 * Brings up real Elasticsearch, Postgres and Redis for tests and benchmarks. Each one's URL comes from the environment if
 * set (`TEST_DATABASE_URL`, else `DATABASE_URL`, and so on); the others are started, by `docker compose` when an engine
 * answers, else from native binaries.
 *
 * The servers belong to a small process of their own, the keeper, which stops them as soon as this process is gone,
 * however it ended.
 * @throws ServersUnavailable
 */
export async function startServers(
  options: Partial<Omit<StartRequest, 'servers'>> = {},
): Promise<RunningServers> {
  const given = Object.fromEntries(NAMES.map((name) => [name, fromEnvironment(name)]));
  const servers = NAMES.filter((name) => !given[name]);
  const request = {
    maxConnections: 300,
    purpose: 'tests' as const,
    elasticsearchHeapMb: 512,
    ...options,
    servers,
  };
  const keeper = servers.length > 0 ? await startKeeper(request) : { urls: {}, stop: async () => {} };
  const urls = { ...given, ...keeper.urls } as Record<ServerName, string>;
  return {
    elasticsearchUrl: urls.elasticsearch,
    postgresUrl: urls.postgres,
    redisUrl: urls.redis,
    started: servers,
    stop: keeper.stop,
  };
}

function fromEnvironment(name: ServerName): string | undefined {
  const value = VARIABLES[name].map((variable) => process.env[variable]).find(Boolean);
  return value?.replace(/\/+$/, '');
}

async function startKeeper(request: StartRequest) {
  // Its output goes through us rather than to our own terminal or pipe: a reader of our output (`bun test | tee`) would
  // otherwise wait for the keeper to end as well.
  const keeper = spawn(process.execPath, [join(import.meta.dir, 'keeper.ts'), JSON.stringify(request)], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    // It has no terminal to look at.
    env: { ...process.env, TEST_INSTALL: mayInstall() ? 'yes' : 'no' },
  });
  const exited = once(keeper, 'exit');
  let complaint = '';
  keeper.stderr.on('data', (chunk: Buffer) => {
    complaint = (complaint + chunk.toString()).slice(-2000);
  });
  const stop = async () => {
    keeper.stdin.end();
    const timer = setTimeout(() => keeper.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await exited;
    clearTimeout(timer);
  };
  for await (const line of createInterface({ input: keeper.stdout })) {
    const message = JSON.parse(line) as KeeperMessage;
    if ('say' in message) process.stderr.write(`${message.say}\n`);
    else if ('failed' in message) {
      await stop();
      throw new ServersUnavailable(message.failed);
    } else {
      // It has nothing more to say and must not keep this process alive.
      keeper.unref();
      return { urls: message.ready, stop };
    }
  }
  throw new ServersUnavailable(`the test servers' keeper ended unexpectedly\n${complaint}`);
}
