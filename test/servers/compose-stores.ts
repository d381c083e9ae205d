import { join } from 'node:path';
import { answers, findCompose, INNER_PORTS, ROOT } from './docker.ts';
import { run } from './processes.ts';
import type { ServerName, ServerSource } from './servers.ts';

const CHECK_TIMEOUT_MS = 10_000;
/** The variable and the default path of the secret that says how to enter a store (docker-compose.yml, `secrets`). */
const SECRETS: Record<ServerName, [string, string]> = {
  elasticsearch: ['ELASTICSEARCH_URL_SECRET', 'secrets/elasticsearch-url'],
  postgres: ['POSTGRES_PASSWORD_SECRET', 'secrets/postgres-password'],
  redis: ['REDIS_URL_SECRET', 'secrets/redis-url'],
};

/**
 * The stores that `docker compose up --detach --wait elasticsearch postgres redis` has started. They publish no port, so the
 * tests go to their containers' addresses. The stores of an installation, whose `api` runs too, are left alone.
 */
export function composeStores(say: (line: string) => void): ServerSource {
  let containers: Promise<Map<string, string>> | undefined;
  return {
    async start(name) {
      // Only Linux has a route to containers.
      if (process.platform !== 'linux') return undefined;
      containers ??= findContainers().catch(() => new Map<string, string>());
      const container = (await containers).get(name);
      if (container === undefined || (await containers).has('api')) return undefined;
      const url = await urlOf(name, container);
      if (await answers(name, url)) {
        say(`using ${name} of docker-compose.yml, which runs already`);
        return url;
      }
      say(`${name} of docker-compose.yml runs, but can't be reached`);
      return undefined;
    },
    stop: async () => {},
  };
}

/** The containers of docker-compose.yml that run, by the names of their services. */
async function findContainers(): Promise<Map<string, string>> {
  const compose = await findCompose();
  if (compose === undefined) return new Map();
  const [command, ...words] = compose;
  const args = [...words, 'ps', '--status', 'running', '--format', '{{.Service}} {{.ID}}'];
  const list = await run({ command: command!, args, cwd: ROOT }, CHECK_TIMEOUT_MS);
  return new Map(list.split('\n').map((line) => line.split(' ') as [string, string]));
}

async function urlOf(name: ServerName, container: string): Promise<string> {
  const format = '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}';
  const args = ['inspect', '--format', format, container];
  const address = await run({ command: 'docker', args }, CHECK_TIMEOUT_MS);
  const [variable, path] = SECRETS[name];
  const secret = (await Bun.file(process.env[variable] || join(ROOT, path)).text()).trim();
  if (name === 'postgres') return `postgres://postgres:${secret}@${address}:${INNER_PORTS.postgres}/postgres`;
  const url = new URL(secret);
  url.hostname = address;
  return url.href.replace(/\/$/, '');
}
