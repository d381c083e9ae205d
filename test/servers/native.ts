import { startNode } from './elasticsearch.ts';
import { hasElasticsearch } from './elasticsearch-fetch.ts';
import { cacheFolder, createRunFolder, removeFolder } from './folders.ts';
import { findJdk } from './jdk.ts';
import { startPostgres } from './postgres.ts';
import {
  killEverything,
  refuseNewProcesses,
  type ServerProcess,
  type ServerUser,
  stopProcess,
} from './processes.ts';
import { ensureRedis, startRedis } from './redis.ts';
import { serverUser } from './server-user.ts';
import type { ServerName, StartRequest } from './servers.ts';

const SETTLE_TIMEOUT_MS = 3000;

/** The parts that every native server needs to start. */
export type NativeContext = {
  /** Everything that the run writes; removed when it ends. */
  runFolder: string;
  /** Kept between runs. */
  cache: string;
  user: ServerUser | undefined;
  /** A line for the person who waits. */
  say(line: string): void;
  /** Registers a process to stop at the end, with the signal that makes it leave nothing behind. */
  own(process: ServerProcess, stopSignal: NodeJS.Signals): void;
};

/** A new run folder for servers. @returns also what ends those that were registered, and removes the folder once `settled` */
export async function createContext(say: (line: string) => void) {
  const user = await serverUser();
  const owned: { process: ServerProcess; stopSignal: NodeJS.Signals }[] = [];
  const context: NativeContext = {
    runFolder: createRunFolder(user),
    cache: cacheFolder(user),
    user,
    say,
    own: (process, stopSignal) => owned.push({ process, stopSignal }),
  };
  return {
    context,
    async stop(settled?: () => Promise<unknown>): Promise<void> {
      await Promise.all(owned.map(({ process, stopSignal }) => stopProcess(process, stopSignal)));
      await settled?.();
      await removeFolder(context.runFolder);
    },
  };
}

/** Servers from programs on this machine. `start` throws an Error of one line that names everything that is missing. */
export function createNative(request: StartRequest, say: (line: string) => void) {
  const starts: Promise<string>[] = [];
  let created: ReturnType<typeof createContext> | undefined;
  const start = async (name: ServerName): Promise<string> => {
    created ??= createContext(say);
    const { context: native } = await created;
    if ((await missingParts(name, native)).length > 0) throw await incomplete(native);
    if (name === 'postgres') return startPostgres(native, request);
    if (name === 'redis') return startRedis(native, request);
    const settings = ['discovery.type: single-node', 'http.port: 0', 'transport.port: 0'];
    const node = { ...request, name: 'elasticsearch', settings };
    return (await startNode(native, findJdk(native.user)!, node)).url;
  };
  return {
    /** @returns the server's URL, once it answers */
    start(name: ServerName): Promise<string> {
      const started = start(name);
      starts.push(started);
      return started;
    },
    /** Stops what it has started, at any moment. */
    async stop(): Promise<void> {
      if (created === undefined) return;
      refuseNewProcesses();
      const { stop } = await created;
      await stop(async () => {
        await killEverything();
        // A start that is still under way would write into the folder again; without its processes it ends at once, unless
        // it waits for another run's fetch, which is nothing to wait for.
        await Promise.race([Promise.allSettled(starts), Bun.sleep(SETTLE_TIMEOUT_MS)]);
      });
    },
  };
}

async function missingParts(name: ServerName, context: NativeContext): Promise<string[]> {
  const { cache, user, say } = context;
  if (name === 'redis') return [await ensureRedis(cache, say)].filter((reason) => reason !== undefined);
  if (name !== 'elasticsearch') return [];
  return [
    ...(findJdk(user) ? [] : ['no JDK of 21 or newer found']),
    ...(hasElasticsearch(context) || Bun.which('mvn') ? [] : ['no Maven (mvn) found']),
  ];
}

/** An error that names the missing parts of all servers at once. */
async function incomplete(context: NativeContext): Promise<Error> {
  const missing = [
    ...(await missingParts('elasticsearch', context)),
    ...(await missingParts('redis', context)),
  ];
  return new Error(
    `tests need a JDK 21+ with Maven and redis-server, or the addresses of servers: ${missing.join(', ')}`,
  );
}
