import { rm } from 'node:fs/promises';
import { elasticsearchCopy, startElasticsearch } from './elasticsearch.ts';
import { cacheFolder, createRunFolder } from './folders.ts';
import { findJdk } from './jdk.ts';
import { startPostgres } from './postgres.ts';
import { refuseNewProcesses, type ServerProcess, type ServerUser, stopProcess } from './processes.ts';
import { ensureRedis, startRedis } from './redis.ts';
import { serverUser } from './server-user.ts';
import type { ServerName, ServerSet, StartRequest } from './servers.ts';

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
    elasticsearch: () => startElasticsearch(context, jdk!, request.elasticsearchHeapMb),
    postgres: () => startPostgres(context, request),
    redis: () => startRedis(context),
  };
  const stop = async () => {
    refuseNewProcesses();
    await Promise.all(owned.map(({ process, stopSignal }) => stopProcess(process, stopSignal)));
    await rm(runFolder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  const urls: ServerSet['urls'] = {};
  const ready = Promise.all(
    request.servers.map(async (name) => {
      urls[name] = await start[name]();
    }),
  );
  return { urls, ready: ready.then(() => undefined), stop };
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
