import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { mayInstall } from './may-install.ts';

export type ServerName = 'elasticsearch' | 'postgres' | 'redis';

/** The variable that has a server's address: given by the developer, or set once the server runs. */
export const VARIABLES: Record<ServerName, string> = {
  elasticsearch: 'TEST_ELASTICSEARCH_URL',
  postgres: 'TEST_DATABASE_URL',
  redis: 'TEST_REDIS_URL',
};
export const SERVER_NAMES = Object.keys(VARIABLES) as ServerName[];

export type StartRequest = {
  /** Postgres's `max_connections`. */
  maxConnections: number;
  /** Benchmarks get real durable commits (fsync) and Java's full compiler; tests do without, for a quicker start. */
  purpose: 'tests' | 'benchmarks';
  elasticsearchHeapMb: number;
  /** The run whose databases are dropped at the end from a Postgres that somebody else has started. */
  runId?: string;
};

export type Keeper = Awaited<ReturnType<typeof startKeeper>>;
export type RunningServers = Awaited<ReturnType<typeof startServers>>;

/** The messages of the keeper on its standard output, a JSON document a line. */
export type KeeperMessage = { address: string } | { say: string } | { failed: string };

/** The servers can't be started; `message` is one line when a prerequisite is missing. */
export class ServersUnavailable extends Error {}

const STOP_TIMEOUT_MS = 20_000;
const DEFAULTS: StartRequest = { maxConnections: 300, purpose: 'tests', elasticsearchHeapMb: 512 };

/**
 * Starts the keeper, the process that owns the servers of a run: any process of the run can ask it for one, and it starts each when it
 * is first asked for it. It stops them when this process is gone, however that ended.
 */
export async function startKeeper(options: Partial<StartRequest> = {}) {
  // Its output goes through us rather than to our own terminal or pipe: a reader of our output (`bun test | tee`) would
  // otherwise wait for the keeper to end as well.
  const words = [join(import.meta.dir, 'keeper.ts'), JSON.stringify({ ...DEFAULTS, ...options })];
  const keeper = spawn(process.execPath, words, {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    // It has no terminal to look at.
    env: { ...process.env, TEST_INSTALL: mayInstall() ? 'yes' : 'no' },
  });
  keeper.unref();
  const exited = once(keeper, 'exit');
  const address = Promise.withResolvers<string>();
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  keeper.stdin.on('error', () => {}); // it has ended already
  let complaint = '';
  keeper.stderr.on('data', (chunk: Buffer) => {
    complaint = (complaint + chunk.toString()).slice(-2000);
  });
  createInterface({ input: keeper.stdout }).on('line', (line) => {
    const message = JSON.parse(line) as KeeperMessage;
    if ('say' in message) process.stderr.write(`${message.say}\n`);
    else if ('failed' in message) failed.reject(new ServersUnavailable(message.failed));
    else address.resolve(message.address);
  });
  exited.then(() =>
    failed.reject(new ServersUnavailable(`the test servers' keeper ended unexpectedly\n${complaint}`)),
  );
  return {
    /** Where to ask: `{address}/postgres` answers with the server's URL once it runs. */
    address: await Promise.race([address.promise, failed.promise]),
    /** Rejects with ServersUnavailable when a server could not be started. */
    failed: failed.promise,
    /** Stops what was started, and removes its files. Can be called twice. */
    async stop(): Promise<void> {
      if (!keeper.stdin.writableEnded) keeper.stdin.end('stop\n');
      const timer = setTimeout(() => keeper.kill('SIGKILL'), STOP_TIMEOUT_MS);
      await exited;
      clearTimeout(timer);
    },
  };
}

/** The URL of a server of the keeper at `address`, once it runs. A first start fetches for minutes. */
export async function askKeeper(address: string, name: ServerName): Promise<string> {
  const answer = await fetch(`${address}/${name}`, { timeout: false });
  return answer.text();
}

/**
 * Brings up all three servers for benchmarks and for {@link file://./up.ts}; where each comes from says {@link file://./keeper.ts}.
 * @returns their addresses, and `stop`, which can be called twice
 * @throws ServersUnavailable
 */
export async function startServers(options: Partial<StartRequest> = {}) {
  const keeper = await startKeeper(options);
  const urlOf = (name: ServerName) => Promise.race([askKeeper(keeper.address, name), keeper.failed]);
  try {
    const urls = SERVER_NAMES.map(async (name) => [`${name}Url`, await urlOf(name)] as const);
    const running = Object.fromEntries(await Promise.all(urls)) as Record<`${ServerName}Url`, string>;
    return { ...running, stop: keeper.stop };
  } catch (error) {
    await keeper.stop();
    throw error;
  }
}
