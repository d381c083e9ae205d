import { nodesOf, postgresHosts } from '../addresses.ts';
import type { Config } from '../config.ts';
import { isLoopbackHost } from '../loopback.ts';

/** A line of advice for each configured address on another machine without verified TLS. */
export function transportWarnings(config: Config): string[] {
  const plain: [string, string[], string][] = [
    ['REDIS_URL', config.redisUrl === null ? [] : [config.redisUrl], 'rediss:'],
    ['ELASTICSEARCH_URL', config.elasticsearchUrl === null ? [] : nodesOf(config.elasticsearchUrl), 'https:'],
    ['NIF_PT_URL', [config.nifPtUrl], 'https:'],
    ['VIES_URL', [config.viesUrl], 'https:'],
    ['EINFORMA_URL', [config.einformaUrl], 'https:'],
  ];
  const warnings = plain
    .filter(([, addresses, secure]) =>
      addresses.some((address) => isElsewhere(address) && !isOf(address, secure)),
    )
    .map(([name, , secure]) => `${name} is spoken to in plain text: use ${secure}`);
  const postgres = config.databaseUrl === null ? null : postgresWarning(config.databaseUrl);
  return postgres === null ? warnings : [postgres, ...warnings];
}

function postgresWarning(address: string): string | null {
  const hosts = postgresHosts(address);
  if (!hosts.some(isElsewhere)) return null;
  const mode = new URL(hosts[0]!).searchParams.getAll('sslmode').at(-1) ?? 'disable';
  if (mode === 'disable') return 'DATABASE_URL is spoken to in plain text: add sslmode=verify-full';
  if (mode === 'require') {
    return 'DATABASE_URL has sslmode=require, which encrypts but accepts any certificate: use sslmode=verify-full';
  }
  return null;
}

const isOf = (address: string, protocol: string) => new URL(address).protocol === protocol;

/** Whether an address is outside this machine and outside a container's network, where names have no dot. */
function isElsewhere(address: string): boolean {
  const { hostname } = new URL(address);
  return /[.:]/.test(hostname) && !isLoopbackHost(hostname);
}
