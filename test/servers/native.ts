import { elasticsearchCopy, startElasticsearch } from './elasticsearch.ts';
import { cacheFolder, createRunFolder, removeFolder } from './folders.ts';
import { findJdk } from './jdk.ts';
import { startPostgres } from './postgres.ts';
import {
  killEverything,
  once,
  refuseNewProcesses,
  type ServerProcess,
  type ServerUser,
  stopProcess,
} from './processes.ts';
import { ensureRedis, startRedis } from './redis.ts';
import { serverUser } from './server-user.ts';
import type { ServerName, ServerSet, StartRequest } from './servers.ts';

const SETTLE_TIMEOUT_MS = 3000;

/** What every native server needs to start. */
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

/**
 * Starts the asked-for servers from binaries on this machine, all at once.
 * @throws Error of one line that names everything that is missing, before anything is started.
 */
export async function startNative(request: StartRequest, say: (line: string) => void): Promise<ServerSet> {
  const user = await serverUser();
  const cache = cacheFolder(user);
  const jdk = findJdk(user);
  await requireParts(request.servers, jdk, cache, say);

  const runFolder = createRunFolder(user);
  const owned: { process: ServerProcess; stopSignal: NodeJS.Signals }[] = [];
  const context: NativeContext = {
    runFolder,
    cache,
    user,
    say,
    own: (process, stopSignal) => owned.push({ process, stopSignal }),
  };
  const start: Record<ServerName, () => Promise<string>> = {
    elasticsearch: () => startElasticsearch(context, jdk!, request),
    postgres: () => startPostgres(context, request),
    redis: () => startRedis(context, request),
  };
  const urls: ServerSet['urls'] = {};
  const starts = request.servers.map(async (name) => {
    urls[name] = await start[name]();
  });
  const stop = once(async () => {
    refuseNewProcesses();
    await Promise.all(owned.map(({ process, stopSignal }) => stopProcess(process, stopSignal)));
    await killEverything();
    // A start that is still under way would write into the folder again; without its processes it ends at once, unless
    // it waits for another run's fetch, which is nothing to wait for.
    await Promise.race([Promise.allSettled(starts), Bun.sleep(SETTLE_TIMEOUT_MS)]);
    await removeFolder(runFolder);
  });
  return { urls, ready: Promise.all(starts).then(() => undefined), stop };
}

async function requireParts(
  servers: ServerName[],
  jdk: string | undefined,
  cache: string,
  say: (line: string) => void,
): Promise<void> {
  const missing: string[] = [];
  if (servers.includes('elasticsearch')) {
    if (!jdk) missing.push('no JDK of 21 or newer found');
    if (!elasticsearchCopy(cache) && !Bun.which('mvn')) missing.push('no Maven (mvn) found');
  }
  if (servers.includes('redis')) {
    const reason = await ensureRedis(cache, say);
    if (reason) missing.push(reason);
  }
  if (missing.length > 0) {
    throw new Error(
      `tests need Docker, or a JDK 21+ with Maven and redis-server: no Docker engine answers, ${missing.join(', ')}`,
    );
  }
}
