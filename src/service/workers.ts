import { join } from 'node:path';
import type { Config } from '../config.ts';
import { defaultPublicUrl } from '../config.ts';
import { ConfigError } from '../environment.ts';
import { createLog, type Log } from '../observability/log.ts';
import { createCleanup } from '../runtime/shutdown.ts';
import { openStores } from '../stores.ts';
import { SECOND } from '../units.ts';
import { freePort, requireFreePort } from './listen.ts';
import { LONGEST_STOP_MS } from './stop.ts';
import { warnAtStart } from './warnings.ts';

/** A worker that ended by itself is started again after this long. */
const RESTART_PAUSE_MS = 1 * SECOND;

/**
 * Runs `count` processes of the service on one port, between which the kernel deals the connections out, until the
 * signal. Each is a whole service: they share Postgres, Redis and Elasticsearch, and nothing else.
 *
 * @throws ConfigError without Redis: buckets in the processes would multiply every limit
 * @throws RefusedError when the port is taken or Postgres can't be reached
 */
export async function serveWithWorkers(config: Config, count: number, signal: AbortSignal): Promise<void> {
  if (config.redisUrl === null) throw new ConfigError('REDIS_URL is needed with --workers above 1');
  const port = config.port === 0 ? freePort(config.host) : config.port;
  requireFreePort(config.host, port);
  const { log, close } = createLog();
  const cleanup = createCleanup((what, error) => log.error({ err: error }, `closing ${what} failed`));
  cleanup.add('the log', close);
  try {
    // Migrated once, before any worker starts; held open, so that an embedded Postgres outlives each of them.
    const stores = await openStores(config, {
      signal,
      onLog: (line) => log.info({ line }, 'the stores'),
    });
    cleanup.add('the stores', () => stores.close());
    warnAtStart(log, config, config.publicUrl ?? defaultPublicUrl(config.host, port));
    log.info({ workers: count, port }, 'starting workers');
    const patienceMs = config.shutdownDelayS * SECOND + LONGEST_STOP_MS;
    await Promise.all(
      Array.from({ length: count }, (_, index) =>
        keepWorker(port, patienceMs, signal, log.child({ worker: index + 1 })),
      ),
    );
  } finally {
    await cleanup.runInReverse();
  }
}

/**
 * For a worker: aborts with the signal, and when its parent is gone. After a `kill -9` of the parent nobody would stop its
 * workers or start them again, and the next start would find the port taken. Their standard input is a pipe that the
 * parent never writes to: the kernel closes it with the parent, however that ends.
 */
export function orWithoutParent(signal: AbortSignal): AbortSignal {
  const alone = new AbortController();
  const abort = () => alone.abort();
  process.stdin.on('end', abort).on('error', abort).resume();
  return AbortSignal.any([signal, alone.signal]);
}

/**
 * Ends a process and waits until it is gone: by SIGTERM, and by SIGKILL where it doesn't heed that.
 * @param patienceMs for its graceful end
 */
export async function endWorker(
  worker: Pick<Bun.Subprocess, 'kill' | 'exited'>,
  patienceMs = LONGEST_STOP_MS,
): Promise<void> {
  worker.kill('SIGTERM');
  const timer = setTimeout(() => worker.kill('SIGKILL'), patienceMs);
  await worker.exited;
  clearTimeout(timer);
}

/**
 * Runs one worker, again and again, until the signal; then waits for its end.
 * @param patienceMs for its graceful end
 */
async function keepWorker(
  port: number,
  patienceMs: number,
  signal: AbortSignal,
  log: Pick<Log, 'info' | 'warn' | 'error'>,
): Promise<void> {
  while (!signal.aborted) {
    const worker = Bun.spawn(
      [process.execPath, join(import.meta.dir, '..', 'main.ts'), 'serve', '--worker'],
      {
        env: { ...process.env, PORT: String(port) },
        stdin: 'pipe',
        stdout: 'inherit',
        stderr: 'inherit',
      },
    );
    log.info({ pid: worker.pid }, 'started a worker');
    const stop = () => void endWorker(worker, patienceMs);
    signal.addEventListener('abort', stop, { once: true });
    const exitCode = await worker.exited;
    signal.removeEventListener('abort', stop);
    if (signal.aborted) return;
    log.error({ exitCode }, 'a worker ended by itself and is started again');
    await Bun.sleep(RESTART_PAUSE_MS);
  }
}
