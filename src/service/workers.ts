import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { defaultPublicUrl } from '../config/config.ts';
import { ConfigError } from '../config/environment.ts';
import { createLog, type Log } from '../observability/log.ts';
import { createCleanup, LONGEST_STOP_MS } from '../runtime/shutdown.ts';
import { openStores } from '../stores/stores.ts';
import { SECOND } from '../units.ts';
import { freePort } from './listen.ts';
import { warnAtStart } from './warnings.ts';

/** A worker that ended unasked is restarted after this time. */
const RESTART_PAUSE_MS = 1 * SECOND;

/**
 * Runs `count` processes of the service on one port until the signal; the kernel distributes connections. Each is a whole
 * service. They share nothing but Postgres, Redis and Elasticsearch.
 *
 * @throws ConfigError without Redis, because buckets in the processes would multiply every limit
 * @throws RefusedError when the port is taken or Postgres can't be reached
 */
export async function serveWithWorkers(config: Config, count: number, signal: AbortSignal): Promise<void> {
  if (config.redisUrl === null) throw new ConfigError('REDIS_URL is needed with --workers above 1');
  const port = freePort(config.host, config.port);
  const { log, close } = createLog();
  const cleanup = createCleanup((what, error) => log.error({ err: error }, `closing ${what} failed`));
  cleanup.add('the log', close);
  try {
    // The stores are migrated before any worker starts, and stay open so that an embedded Postgres outlives each worker.
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
 * For a worker: aborts with the signal, and when its parent has ended. After a `kill -9` of the parent its workers would keep
 * the port, and nothing would stop or restart them. Their standard input is a pipe that the parent never writes to, and that
 * the kernel closes with the parent.
 */
export function orWithoutParent(signal: AbortSignal): AbortSignal {
  const alone = new AbortController();
  const abort = () => alone.abort();
  process.stdin.on('end', abort).on('error', abort).resume();
  return AbortSignal.any([signal, alone.signal]);
}

/**
 * Ends a process by SIGTERM, if that fails by SIGKILL, and waits until it has ended.
 * @param patienceMs the time for its graceful end
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
 * Runs one worker until the signal, restarting it when it ends; then waits for its end.
 * @param patienceMs the time for its graceful end
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
