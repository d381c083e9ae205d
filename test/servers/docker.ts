import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isHealthy } from './elasticsearch.ts';
import { givesAnswer } from './ports.ts';
import { acceptsQueries } from './postgres.ts';
import { once, run } from './processes.ts';
import type { ServerName, ServerSet, StartRequest } from './servers.ts';

const CHECK_TIMEOUT_MS = 5000;
const UP_TIMEOUT_MS = 15 * 60_000;
const READY_TIMEOUT_MS = 240_000;
const STOP_TIMEOUT_MS = 60_000;
const ROOT = join(import.meta.dir, '../..');
/** What docker-compose.yml reads for the servers; one file does for all of them. */
const SECRETS = [
  'POSTGRES_PASSWORD_SECRET',
  'DATABASE_PASSWORD_SECRET',
  'ELASTICSEARCH_PASSWORD_SECRET',
  'REDIS_CONFIG_SECRET',
];
const INNER_PORTS: Record<ServerName, number> = { elasticsearch: 9200, postgres: 5432, redis: 6379 };

/**
 * Starts the servers from docker-compose.yml, in a project of their own and on free ports, when an engine answers within a
 * few seconds and compose is there.
 * @returns undefined when Docker can't be used here.
 */
export async function startDocker(
  request: StartRequest,
  say: (line: string) => void,
): Promise<ServerSet | undefined> {
  const compose = await findCompose();
  if (!compose) return undefined;
  const project = `company-directory-test-${randomBytes(4).toString('hex')}`;
  const folder = mkdtempSync(join(tmpdir(), `${project}-`));
  const password = randomBytes(18).toString('base64url');
  const passwordFile = join(folder, 'postgres-password');
  writeFileSync(passwordFile, password);
  const composeRun = (args: string[], timeoutMs: number, abort?: AbortSignal) =>
    run(
      {
        command: compose[0]!,
        args: [
          ...compose.slice(1),
          ...['--project-name', project, '--project-directory', ROOT],
          ...['--file', join(ROOT, 'docker-compose.yml')],
          ...['--file', join(import.meta.dir, 'docker-compose.test.yml')],
          ...args,
        ],
        env: {
          ...Object.fromEntries(SECRETS.map((name) => [name, passwordFile])),
          TEST_MAX_CONNECTIONS: String(request.maxConnections),
          TEST_FSYNC: request.purpose === 'benchmarks' ? 'on' : 'off',
          TEST_APPENDONLY: request.purpose === 'benchmarks' ? 'yes' : 'no',
          TEST_HEAP_MB: String(request.elasticsearchHeapMb),
        },
      },
      timeoutMs,
      abort,
    );
  const urls: ServerSet['urls'] = {};
  const stopping = new AbortController();
  const bringUp = async () => {
    say(`starting ${request.servers.join(', ')} with ${compose.join(' ')}`);
    await composeRun(['up', '--detach', ...request.servers], UP_TIMEOUT_MS, stopping.signal);
    for (const name of request.servers) {
      const published = await composeRun(['port', name, String(INNER_PORTS[name])], CHECK_TIMEOUT_MS);
      urls[name] = urlOf(name, published.split('\n').at(-1)!, password);
      await untilAnswering(name, urls[name], stopping.signal);
    }
  };
  const stop = once(async () => {
    stopping.abort();
    await composeRun(['down', '--volumes', '--timeout', '1'], STOP_TIMEOUT_MS).catch(() => undefined);
    rmSync(folder, { recursive: true, force: true });
  });
  return { urls, ready: bringUp(), stop };
}

/** The command words of compose (the plugin or the older program), when an engine answers. */
async function findCompose(): Promise<string[] | undefined> {
  if (!Bun.which('docker') || !(await succeeds(['docker', 'version', '--format', '{{.Server.Version}}'])))
    return undefined;
  if (await succeeds(['docker', 'compose', 'version'])) return ['docker', 'compose'];
  if (await succeeds(['docker-compose', 'version'])) return ['docker-compose'];
  return undefined;
}

const succeeds = ([command, ...args]: string[]) =>
  run({ command: command!, args }, CHECK_TIMEOUT_MS).then(
    () => true,
    () => false,
  );

function urlOf(name: ServerName, address: string, password: string): string {
  if (name === 'elasticsearch') return `http://${address}`;
  if (name === 'redis') return `redis://${address}`;
  return `postgres://postgres:${password}@${address}/postgres`;
}

async function untilAnswering(name: ServerName, url: string, stopping: AbortSignal): Promise<void> {
  const probes: Record<ServerName, () => Promise<boolean>> = {
    elasticsearch: () => isHealthy(url),
    postgres: () => acceptsQueries(url),
    redis: () => givesAnswer(Number(new URL(url).port), 'PING\r\n', '+PONG'),
  };
  const deadline = Date.now() + READY_TIMEOUT_MS;
  while (!(await probes[name]())) {
    stopping.throwIfAborted();
    if (Date.now() > deadline) throw new Error(`${name} does not answer at its published port`);
    await Bun.sleep(200);
  }
}
