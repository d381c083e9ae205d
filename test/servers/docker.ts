import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isHealthy } from './elasticsearch.ts';
import { acceptsQueries } from './postgres.ts';
import { run } from './processes.ts';
import { givesPong } from './redis.ts';
import type { ServerName, ServerSource, StartRequest } from './servers.ts';

const CHECK_TIMEOUT_MS = 5000;
const UP_TIMEOUT_MS = 15 * 60_000;
const READY_TIMEOUT_MS = 240_000;
const STOP_TIMEOUT_MS = 60_000;
export const ROOT = join(import.meta.dir, '../..');
/** The variables that docker-compose.yml reads for the servers; one file does for all of them. */
const SECRETS = [
  'POSTGRES_PASSWORD_SECRET',
  'DATABASE_PASSWORD_SECRET',
  'ELASTICSEARCH_PASSWORD_SECRET',
  'REDIS_CONFIG_SECRET',
];
export const INNER_PORTS: Record<ServerName, number> = { elasticsearch: 9200, postgres: 5432, redis: 6379 };

/**
 * Servers from docker-compose.yml, in a project of their own and on free ports. `start` resolves with undefined when no engine
 * answers within a few seconds, or when it does not bring the server up.
 */
export function createDocker(request: StartRequest, say: (line: string) => void): ServerSource {
  const project = `company-directory-test-${randomBytes(4).toString('hex')}`;
  const password = randomBytes(18).toString('base64url');
  const stopping = new AbortController();
  let folder: string | undefined;
  // Two starts at once would both create the network.
  let up: Promise<unknown> = Promise.resolve();
  const composeRun = async (args: string[], timeoutMs: number, abort?: AbortSignal) => {
    const [command, ...words] = (await findCompose())!;
    folder ??= mkdtempSync(join(tmpdir(), `${project}-`));
    const passwordFile = join(folder, 'postgres-password');
    writeFileSync(passwordFile, password);
    return run(
      {
        command: command!,
        args: [
          ...words,
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
  };
  const bringUp = async (name: ServerName): Promise<string> => {
    say(`starting ${name} with ${(await findCompose())!.join(' ')}`);
    up = up
      .catch(() => undefined)
      .then(() => composeRun(['up', '--detach', name], UP_TIMEOUT_MS, stopping.signal));
    await up;
    const published = await composeRun(['port', name, String(INNER_PORTS[name])], CHECK_TIMEOUT_MS);
    const url = urlOf(name, published.split('\n').at(-1)!, password);
    await untilAnswering(name, url, stopping.signal);
    return url;
  };
  return {
    async start(name) {
      if ((await findCompose()) === undefined) return undefined;
      try {
        return await bringUp(name);
      } catch (error) {
        stopping.signal.throwIfAborted();
        const reason = (error as Error).message.split('\n').slice(0, 3).join(' ');
        say(`Docker did not bring ${name} up, trying a native one: ${reason}`);
        return undefined;
      }
    },
    async stop() {
      if (folder === undefined) return;
      stopping.abort();
      await composeRun(['down', '--volumes', '--timeout', '1'], STOP_TIMEOUT_MS).catch(() => undefined);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

let compose: Promise<string[] | undefined> | undefined;

/** The command words of compose (the plugin or the older program), when an engine answers. */
export function findCompose(): Promise<string[] | undefined> {
  compose ??= lookForCompose();
  return compose;
}

async function lookForCompose(): Promise<string[] | undefined> {
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

/** Whether the server at `url` serves requests. */
export function answers(name: ServerName, url: string): Promise<boolean> {
  if (name === 'elasticsearch') return isHealthy(url);
  if (name === 'postgres') return acceptsQueries(url);
  return givesPong(url);
}

async function untilAnswering(name: ServerName, url: string, stopping: AbortSignal): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  while (!(await answers(name, url))) {
    stopping.throwIfAborted();
    if (Date.now() > deadline) throw new Error(`${name} does not answer at its published port`);
    await Bun.sleep(200);
  }
}
